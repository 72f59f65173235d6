import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.self_extend import SelfExtend
from tests import models, reference
from tests.encodings import codes
from tests.encodings.codes import attend
from tests.marks import full

ARGUMENTS = dict(window=2, group=3)  # so that the laws' few tokens reach beyond the window
SENSITIVE = {
    "window": (2, 4),
    "group": (3, 2),
    "base": (10000.0, 100.0),
    "layout": ("interleaved", "half"),
    "fraction": (1.0, 0.5),
}


def logits(q, k, positions, encoding):
    """[L, S] of one head, [L, Dh] each, as attention computes them."""
    tokens = codes.tokens(positions)
    q, k = (jnp.asarray(x, jnp.float32)[None, :, None] for x in (q, k))
    a, b = encoding.transform_qk(q, k, tokens, tokens)
    s = jnp.einsum("blhe,bshe->bhls", a, b) / q.shape[-1] ** 0.5
    return np.asarray((s + encoding.content_bias(q, k, tokens, tokens))[0, 0])


def distances(positions, **arguments):
    """What a query is from a key, as the turn of the slow pair of four channels shows it."""
    q, k = (np.tile(x, (len(positions), 1)) for x in ([0, 0, 1, 0], [0, 0, 0, 1]))
    found = logits(q, k, positions, SelfExtend(head_dim=4, base=1e6, **arguments))
    return np.arcsin(2 * found) * 1e3


@pytest.mark.full
def test_where_keys_begin_a_group_distances_are_the_reference():
    """The reference divides distances. That is the same for keys at multiples of the group."""
    given, expected = (
        reference.entry("self_extend_relative")[part] for part in ("inputs", "value")
    )
    for key in (0, 3, 30):
        found = distances([key + d for d in given["rel"]], window=given["w"], group=given["G"])[
            :, 0
        ]
        np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("window", "group"), [full(4, 3), full(7, 2), full(2, 5), (1, 1)])
def test_elsewhere_a_far_distance_is_one_more_where_the_query_stands_earlier_in_its_group(
    window, group
):
    found = distances(range(40), window=window, group=group)
    for p in range(40):
        for key in range(p + 1):
            d = p - key
            far = d // group + window - window // group + (p % group < key % group)
            assert found[p, key] == pytest.approx(d if d < window else far, abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [{}, dict(base=100.0, layout="half", fraction=0.75)])
@pytest.mark.parametrize("positions", [range(8), [0, 1, 3, 9, 20, 40, 63, 64]])
def test_equation_in_float64(positions, arguments):
    q, k = np.random.default_rng(0).normal(size=(2, 8, 8))
    base, layout, r = (
        arguments.get("base", 10000.0),
        arguments.get("layout"),
        round(8 * arguments.get("fraction", 1.0)),
    )
    window, group, expected = 3, 4, np.zeros((8, 8))
    for i, p in enumerate(positions):
        for j, at in enumerate(positions):
            of_q, of_k = (
                (p, at) if p - at < window else (p // group + window - window // group, at // group)
            )
            expected[i, j] = q[i, r:] @ k[j, r:]
            for m in range(r // 2):
                a, b = (m, m + r // 2) if layout == "half" else (2 * m, 2 * m + 1)
                turn = np.exp(1j * (of_q - of_k) * base ** (-2 * m / r))
                expected[i, j] += (
                    complex(q[i, a], q[i, b]) * turn * np.conj(complex(k[j, a], k[j, b]))
                ).real
    found = logits(
        q, k, list(positions), SelfExtend(head_dim=8, window=window, group=group, **arguments)
    )
    np.testing.assert_allclose(found, expected / 8**0.5, atol=1e-5)


@pytest.mark.full
def test_a_shift_by_whole_groups_changes_nothing_and_another_does():
    q, k = np.random.default_rng(1).normal(size=(2, 12, 8))
    encoding = SelfExtend(head_dim=8, window=4, group=3)
    base, whole, broken = (
        logits(q, k, range(shift, shift + 12), encoding) for shift in (0, 36, 37)
    )
    np.testing.assert_allclose(whole, base, atol=1e-5)
    assert np.abs(broken - base).max() > 0.1
    assert not encoding.requirements.relative


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [dict(window=12, group=3), full(dict(window=2, group=1))])
def test_within_the_window_or_in_groups_of_one_it_is_rope(arguments):
    x = jax.random.normal(jax.random.key(2), (1, 12, 2, 8))
    tokens, causal = codes.tokens(range(12)), jnp.tri(12, dtype=bool)[None, None]
    extended, plain = (
        attend(e, x, x, x, tokens, tokens, causal)
        for e in (SelfExtend(head_dim=8, **arguments), RoPE(head_dim=8))
    )
    np.testing.assert_allclose(extended, plain, atol=1e-5)


@pytest.mark.slow
def test_it_takes_the_place_of_rope_in_a_trained_model():
    """The same parameters, and only distances from the window on are seen otherwise."""
    rope, extended = (
        models.build(e, num_layers=1) for e in ("rope", dict(name="self_extend", window=4, group=2))
    )
    jax.tree.map(np.testing.assert_array_equal, models.params(rope), models.params(extended))
    found = [
        models.run(model, models.stream(models.random_tokens(2, 9))) for model in (rope, extended)
    ]
    models.assert_close(found[0][:, :4], found[1][:, :4])
    models.assert_differs(found[0][:, 8], found[1][:, 8], 1e-4)


@pytest.mark.slow
def test_a_bias_on_the_same_layer_stays_beyond_the_window():
    q, k = np.random.default_rng(3).normal(size=(2, 8, 8))
    encoding, alibi, tokens = (
        SelfExtend(head_dim=8, window=2, group=3),
        ALiBi(num_heads=1),
        codes.tokens(range(8)),
    )
    raw = [jnp.asarray(x, jnp.float32)[None, :, None] for x in (q, k)]
    v = jnp.eye(8)[None, :, None]
    weights = attend((encoding, alibi), *raw, v, tokens, tokens, jnp.ones((1, 1, 8, 8), bool))[
        0, :, 0
    ]
    expected = jax.nn.softmax(logits(q, k, range(8), encoding) + alibi.bias(tokens, tokens)[0, 0])
    np.testing.assert_allclose(weights, expected, atol=1e-5)


@pytest.mark.parametrize("arguments", [dict(window=0), dict(group=0)])
def test_no_window_and_no_group_are_refused(arguments):
    with pytest.raises(ValueError, match="window and a group of at least 1, got"):
        SelfExtend(head_dim=8, **arguments)


@pytest.mark.parametrize(("head_dim", "fraction"), [(3, 1.0), (8, 0.4)])
def test_a_width_without_whole_pairs_is_refused(head_dim, fraction):
    with pytest.raises(
        ValueError,
        match=f"{fraction} of the head width {head_dim} must be an even number of channels",
    ):
        SelfExtend(head_dim=head_dim, fraction=fraction)
