import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.mixed_rope import MixedRoPE
from tests import models, reference
from tests.encodings import codes, laws
from tests.encodings.subjects import Subject

SENSITIVE = {"base": (10.0, 100.0)}
UNEVEN = [[0, 0], [1, 7], [3, 2], [20, 63], [9, 40]]


def built(num_heads=2, head_dim=8, seed=0, **arguments):
    return MixedRoPE(num_heads=num_heads, head_dim=head_dim, rngs=codes.rngs(seed), **arguments)


def products(x, positions, encoding):
    """[H, L, L] of queries and keys, [2, L, H, Dh]."""
    tokens = codes.tokens(positions)
    q, k = encoding.transform_qk(*(jnp.asarray(a, jnp.float32)[None] for a in x), tokens, tokens)
    return np.asarray(jnp.einsum("lhe,she->hls", q[0], k[0]))


def random():
    return np.random.default_rng(1).normal(size=(2, 5, 2, 8))


def test_the_start_is_the_reference_turned_by_one_angle_a_head():
    fx, fy = np.asarray(built().frequencies[...], np.float64)
    directions = np.arctan2(fy[:, 0], fx[:, 0])
    assert abs(directions[0] - directions[1]) > 0.1
    back = (fx + 1j * fy) * np.exp(-1j * directions)[:, None]
    reference.assert_agrees([back.real, back.imag], "rope_mixed2d_init_norotate_d8_h2")


def test_directions_are_spread_over_the_whole_turn():
    fx, fy = np.asarray(built(num_heads=2000).frequencies[...])
    counts, _ = np.histogram(np.arctan2(fy[:, 0], fx[:, 0]), bins=4, range=(-np.pi, np.pi))
    np.testing.assert_allclose(counts, 500, atol=100)  # 5 standard deviations


@pytest.mark.slow
def test_equation_in_float64():
    encoding, (q, k) = built(), random()
    fx, fy = np.asarray(encoding.frequencies[...], np.float64)
    expected = np.zeros((2, 5, 5))
    for h in range(2):
        for i, (x, y) in enumerate(UNEVEN):
            for j, (u, v) in enumerate(UNEVEN):
                for m in range(4):
                    angle = (x - u) * fx[h, m] + (y - v) * fy[h, m]
                    one, other = (complex(*a[t, h, 2 * m : 2 * m + 2]) for a, t in ((q, i), (k, j)))
                    expected[h, i, j] += (one * np.exp(1j * angle) * np.conj(other)).real
    np.testing.assert_allclose(
        products((q, k), UNEVEN, encoding), expected, atol=2e-4
    )  # angles of 60 in float32


@pytest.mark.parametrize("axis", [0, 1])
def test_a_shift_along_one_axis_changes_nothing_and_of_one_token_alone_does(axis):
    x, encoding = random(), built()
    shifted, one = np.array(UNEVEN), np.array(UNEVEN)
    shifted[:, axis] += 37
    one[0, axis] += 37
    np.testing.assert_allclose(
        products(x, shifted, encoding), products(x, UNEVEN, encoding), atol=2e-4
    )
    assert np.abs(products(x, one, encoding) - products(x, UNEVEN, encoding)).max() > 0.1


def test_axes_are_not_alike():
    x, encoding = random(), built()
    swapped = [[b, a] for a, b in UNEVEN]
    assert np.abs(products(x, swapped, encoding) - products(x, UNEVEN, encoding)).max() > 0.1


@pytest.mark.slow
def test_a_step_across_a_pair_s_direction_is_not_seen_by_it():
    """Along (fy, -fx) the angle of pair 0 stays, and so does a product of its channels alone."""
    encoding = built(num_heads=1)
    fx, fy = np.asarray(encoding.frequencies[...])[:, 0, 0]
    x = np.zeros((2, 2, 1, 8))
    x[..., 0] = 1
    found = products(x, [[0.0, 0.0], [5 * fy, -5 * fx]], encoding)[0]
    np.testing.assert_allclose(found, 1, atol=1e-5)


def test_each_layer_and_head_has_frequencies_of_its_own():
    model = Subject(laws.spec("mixed_rope")).build()
    assert models.indices(model.decoder.layer_sites) == ((0,), (1,))
    first, second = (np.asarray(e.frequencies[...]) for e in model.attention_encodings)
    assert np.abs(first - second).max() > 0.1
    assert np.abs(first[:, 0] - first[:, 1]).max() > 0.1


def test_a_head_width_of_uneven_pairs_is_refused():
    with pytest.raises(ValueError, match="so 4 must divide the head width 6"):
        built(head_dim=6)
