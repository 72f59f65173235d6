import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.base import Tokens
from pe_lab.encodings.fox import FoX
from tests import reference
from tests.encodings import codes
from tests.marks import full

BIAS_ONLY, FIXED = (dict(gate=g, decay_times=(1.0, 8.0)) for g in ("bias_only", "fixed"))
SENSITIVE = {
    "gate": (dict(gate="full"), FIXED),
    "bias_start": (0.0, 5.0),
    "decay_times": (BIAS_ONLY, BIAS_ONLY | dict(decay_times=(4.0, 64.0))),
    "scaled": (False, True),
}
REFUSALS = [
    (dict(decay_times=(1.0, 8.0)), "decay_times are of gates that read no token"),
    (dict(gate="fixed"), "fixed gates need decay_times"),
    (dict(gate="fixed", decay_times=(4.0,)), "the shortest and the longest, got"),
    (dict(gate="fixed", decay_times=(8.0, 4.0)), "the shortest and the longest, got"),
    *(
        (
            dict(gate="fixed", decay_times=times),
            r"FoX's decay_times are from 0\.01 to 1e\+12 tokens",
        )
        for times in ((0.0, 8.0), (0.001, 8.0), (1.0, float("inf")))
    ),
]


def fox(num_heads=2, **arguments):
    return FoX(width=16, num_heads=num_heads, rngs=codes.rngs(), **arguments)


def causal(bias):
    return np.tril(np.asarray(bias))


@pytest.mark.slow
def test_agrees_with_reference():
    given, expected = (reference.entry("fox_bias_L5")[k] for k in ("inputs", "value"))
    encoding = fox(num_heads=1)
    encoding.projection.kernel[...] = (
        jnp.zeros((16, 1)).at[0, 0].set(1)
    )  # the logits stand in the first channel
    x = jnp.zeros((1, 5, 16)).at[0, :, 0].set(jnp.asarray(given["fgate_logits"]))
    t = dataclasses.replace(
        codes.tokens(range(5)), features=encoding.features(x, jnp.arange(5)[None])[1]
    )
    reference.assert_agrees(
        causal(codes.content_bias(encoding, t, t, 1)[0, 0]),
        "fox_bias_L5",
        causal(np.asarray(expected, float)),
    )


def test_cable_is_the_same_function():
    z = jnp.asarray(reference.entry("cable_equals_fox")["inputs"]["z"])
    encoding = fox(num_heads=1)
    encoding.projection.kernel[...] = jnp.zeros((16, 1)).at[0, 0].set(-1)
    x = jnp.zeros((1, 3, 16)).at[0, :, 0].set(z)
    reference.assert_agrees(
        encoding.features(x, jnp.arange(3)[None])[1][0, :, 0], "cable_equals_fox"
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, full(1), full(2), full(3)])
def test_bias_is_the_sum_of_logs_between_key_and_query_for_any_queries(seed):
    """Also where queries are a few slots of a cache that is not full."""
    random = np.random.default_rng(seed)
    log_gates = -random.exponential(size=(2, 9, 3)).astype(np.float32)
    log_gates[:, 7:] = 0  # not filled
    slots = np.stack([np.sort(random.choice(7, 4, replace=False)) for _ in range(2)])
    K = Tokens(jnp.arange(9)[None], jnp.arange(9)[None], features=jnp.asarray(log_gates))
    Q = Tokens(jnp.asarray(slots), jnp.asarray(slots))
    bias = np.asarray(codes.content_bias(fox(3), Q, K, 3))
    assert bias.shape == (2, 3, 4, 9)
    assert np.isfinite(bias).all()
    for b, h, l in np.ndindex(2, 3, 4):
        i = slots[b, l]
        for j in range(min(i, 8) + 1):
            np.testing.assert_allclose(
                bias[b, h, l, j], log_gates[b, j + 1 : i + 1, h].astype(float).sum(), atol=1e-5
            )


def test_gates_follow_the_paper_and_start_with_a_half():
    encoding, x = fox(), jax.random.normal(jax.random.key(0), (2, 5, 16))
    log_gates = np.asarray(encoding.features(x, jnp.arange(5)[None])[1])
    logits = np.asarray(x, float) @ np.asarray(encoding.projection.kernel[...], float)
    np.testing.assert_allclose(np.exp(log_gates), 1 / (1 + np.exp(-logits)), atol=1e-6)
    assert np.abs(log_gates - np.log(0.5)).max() < 0.2
    assert (
        np.abs(
            np.asarray(fox(bias_start=5.0).features(0 * x, jnp.arange(5)[None])[1])
            - np.log(1 / (1 + np.exp(-5)))
        ).max()
        < 1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["bias_only", "fixed"])
def test_gates_that_read_no_token_are_alibi_with_a_slope_of_one_over_the_decay_time(gate):
    """Heads 1 and 2 of ALiBi with eight: slopes 1/2 and 1/4 are decay times of 2 and 4 tokens."""
    encoding, t = fox(gate=gate, decay_times=(2.0, 4.0)), codes.tokens(range(40))
    x = jax.random.normal(jax.random.key(0), (1, 40, 16))
    t = dataclasses.replace(t, features=encoding.features(x, t.positions)[1])
    expected = ALiBi(num_heads=8).bias(t, t)[:, :2]
    np.testing.assert_allclose(
        causal(codes.content_bias(encoding, t, t, 2)), causal(expected), atol=1e-5
    )


def test_decay_times_are_spaced_evenly_in_logarithm():
    encoding = fox(num_heads=3, gate="fixed", decay_times=(1.0, 100.0))
    log_gates = encoding.features(jnp.zeros((1, 1, 16)), jnp.zeros((1, 1)))[1][0, 0]
    np.testing.assert_allclose(log_gates, [-1, -0.1, -0.01], rtol=1e-5)
    np.testing.assert_allclose(
        fox(num_heads=1, gate="fixed", decay_times=(3.0, 9.0)).fixed,
        -np.log(np.expm1(1 / 3)),
        rtol=1e-6,
    )


@pytest.mark.slow
def test_a_bias_of_a_thousand_is_right_to_a_part_in_ten_thousand():
    log_gates = -np.random.default_rng(0).exponential(size=(1, 2000, 1)).astype(np.float32)
    t = dataclasses.replace(codes.tokens(range(2000)), features=jnp.asarray(log_gates))
    exact = np.cumsum(log_gates[0, :, 0].astype(float))
    bias = np.asarray(codes.content_bias(fox(1), t, t, 1))[0, 0]
    assert np.abs(causal(bias) - causal(exact[:, None] - exact[None])).max() < 1e-3
