import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.mixed_rope import MixedRoPE
from tests import reference
from tests.encodings import codes

SENSITIVE = {"base": (10.0, 100.0)}
REFUSALS = [
    (dict(head_dim=6), "so 4 must divide the head width 6"),
]
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
