import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.position_temperature import PositionTemperature
from pe_lab.encodings.self_extend import SelfExtend
from tests import models, reference
from tests.encodings import codes
from tests.encodings.codes import attend

ARGUMENTS = dict(window=2, group=3)  # so that the laws' few tokens reach beyond the window
SENSITIVE = {
    "window": (2, 4),
    "group": (3, 2),
    "base": (10000.0, 100.0),
    "layout": ("interleaved", "half"),
    "fraction": (1.0, 0.5),
}
REFUSALS = [
    (dict(window=0), "window and a group of at least 1, got"),
    (dict(group=0), "window and a group of at least 1, got"),
    (dict(head_dim=3), "1.0 of the head width 3 must be an even number of channels"),
    (dict(fraction=0.4), "0.4 of the head width 8 must be an even number of channels"),
]


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
@pytest.mark.parametrize(
    "arguments",
    [
        dict(window=3, group=4),
        dict(window=7, group=2),
        dict(window=4, group=1),
        dict(window=2, group=5, base=100.0, layout="half", fraction=0.75),
    ],
    ids=str,
)
@pytest.mark.parametrize("positions", [range(8), [0, 1, 3, 9, 20, 40, 63, 64]])
def test_equation_in_float64(positions, arguments):
    q, k = np.random.default_rng(0).normal(size=(2, 8, 8))
    base, layout, r = (
        arguments.get("base", 10000.0),
        arguments.get("layout"),
        round(8 * arguments.get("fraction", 1.0)),
    )
    window, group = arguments["window"], arguments["group"]
    expected = np.zeros((8, 8))
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
    found = logits(q, k, list(positions), SelfExtend(head_dim=8, **arguments))
    np.testing.assert_allclose(found, expected / 8**0.5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("window", [3, 6])
@pytest.mark.parametrize("positions", [range(8), [0, 1, 3, 9, 20, 40, 63, 64], range(-5, 3)])
def test_without_groups_it_is_rerope(positions, window):
    """The form of bojone/rerope for one query, in float64: k turns back by min(distance, w)."""
    q, k = np.random.default_rng(0).normal(size=(2, 8, 8))
    output = logits(q, k, list(positions), SelfExtend(head_dim=8, window=window, group=None))
    frequencies = 10000.0 ** (-np.arange(0, 8, 2) / 8)
    for i, p in enumerate(positions):
        for j in range(i + 1):
            turn = np.exp(-1j * min(p - positions[j], window) * frequencies)
            pairs = (q[i, ::2] + 1j * q[i, 1::2]) * np.conj((k[j, ::2] + 1j * k[j, 1::2]) * turn)
            assert output[i, j] == pytest.approx(pairs.real.sum() / 8**0.5, abs=1e-5)


def test_only_without_groups_it_is_relative():
    relative = [
        SelfExtend(head_dim=8, window=2, group=group).requirements.relative for group in (3, None)
    ]
    assert relative == [False, True]


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


@pytest.mark.slow
@pytest.mark.parametrize("group", [3, None])
def test_a_position_temperature_on_the_same_layer_scales_exact_logits_alone(group):
    """So it is not ReRoPE's factor of the queries, as the description says."""
    q, k = np.random.default_rng(3).normal(size=(2, 8, 8))
    rerope = SelfExtend(head_dim=8, window=2, group=group)
    temperature = PositionTemperature(rate=1 / np.log(3), start=3, steps=False)
    tokens, v = codes.tokens(range(8)), jnp.eye(8)[None, :, None]
    raw = [jnp.asarray(x, jnp.float32)[None, :, None] for x in (q, k)]
    mask = jnp.ones((1, 1, 8, 8), bool)
    weights = attend((rerope, temperature), *raw, v, tokens, tokens, mask)[0, :, 0]
    exact = logits(q, k, range(8), SelfExtend(head_dim=8, window=8))
    factor = np.asarray(temperature.factor(tokens.positions))[0][:, None]
    difference = logits(q, k, range(8), rerope) - exact
    np.testing.assert_allclose(weights, jax.nn.softmax(factor * exact + difference), atol=1e-5)
    assert np.abs(weights - jax.nn.softmax(factor * (exact + difference))).max() > 0.01
    words = " ".join(inspect.getmodule(SelfExtend).__doc__.split())
    assert "`position_temperature` on the same layer replaces this factor" in words
