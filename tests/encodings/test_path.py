import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings import path
from pe_lab.encodings.base import Tokens
from pe_lab.encodings.fox import FoX
from pe_lab.encodings.path import PaTH
from tests import reference
from tests.encodings import codes, laws
from tests.encodings.codes import attend

SENSITIVE = {"rank": (32, 2), "convolution": (0, 3)}
REFUSALS = [
    (dict(rank=0), "rank must be at least 1, got 0"),
    (dict(convolution=-1), "convolution must be at least 0, got -1"),
]


def build(num_heads=2, head_dim=8, **arguments):
    return PaTH(width=16, num_heads=num_heads, head_dim=head_dim, rngs=codes.rngs(), **arguments)


def drawn(seed, batch, length, heads, width):
    random = np.random.default_rng(seed)
    q, k, w = random.normal(size=(3, batch, length, heads, width))
    return (
        q,
        k,
        w / np.linalg.norm(w, axis=-1, keepdims=True),
        random.uniform(0, 2, (batch, length, heads)),
    )


def scored(encoding, q, k, w, beta, slots=None):
    """The logits with nothing but PaTH, of queries in given slots of the keys."""
    q, k, w, beta = (jnp.asarray(a, jnp.float32) for a in (q, k, w, beta))
    K = dataclasses.replace(codes.tokens(range(k.shape[1])), features=(w, beta))
    Q = K if slots is None else Tokens(jnp.asarray(slots), jnp.asarray(slots))
    s = jnp.einsum("blhe,bshe->bhls", q, k) / q.shape[-1] ** 0.5
    return s + encoding.content_bias(q, k, Q, K)


def equation(q, k, w, beta):
    """q_i H_i ... H_(j+1) k_j / sqrt(Dh) from the matrices, in float64; 0 for later keys."""
    out = np.zeros((q.shape[0], q.shape[2], q.shape[1], q.shape[1]))
    for b, h, i in np.ndindex(q.shape[0], q.shape[2], q.shape[1]):
        product = np.eye(q.shape[-1])
        for j in range(i, -1, -1):
            out[b, h, i, j] = q[b, i, h] @ product @ k[b, j, h] / q.shape[-1] ** 0.5
            product = product @ (
                np.eye(q.shape[-1]) - beta[b, j, h] * np.outer(w[b, j, h], w[b, j, h])
            )
    return out


@pytest.mark.slow
def test_agrees_with_reference():
    given, expected = (reference.entry("path_L5_d4")[k] for k in ("inputs", "value"))
    q, k, w, beta = (np.asarray(given[n], float)[None, :, None] for n in ("q", "k", "w", "beta"))
    found = scored(build(1, 4), q, k, w, beta)[0, 0] * 2  # the entry leaves out 1 / sqrt(Dh)
    reference.assert_agrees(np.tril(found), "path_L5_d4", np.tril(np.asarray(expected, float)))


@pytest.mark.full
@pytest.mark.parametrize("block", [1, 4, 7, 32])
@pytest.mark.parametrize("seed", range(2))
def test_logits_are_the_product_of_matrices_whatever_the_block(seed, block, monkeypatch):
    monkeypatch.setattr(path, "_BLOCK", block)
    drawing = drawn(seed, 2, 23, 2, 4)
    np.testing.assert_allclose(
        np.tril(scored(build(2, 4), *drawing)), equation(*drawing), atol=1e-5
    )


@pytest.mark.parametrize("block", [2, 4, 32])
def test_gradients_are_those_of_the_product_of_matrices(block, monkeypatch):
    """The inverse has a derivative of its own; that of the matrices is the compiler's."""
    monkeypatch.setattr(path, "_BLOCK", block)
    drawing = [jnp.asarray(a, jnp.float32) for a in drawn(8, 1, 7, 1, 4)]
    gradient = jax.random.normal(jax.random.key(0), (7, 7))  # of the logits

    def loss_of_encoding(*drawing):
        logits = scored(build(1, 4), *drawing)[0, 0]
        return (jnp.tril(logits) * gradient).sum()

    def loss_of_matrices(q, k, w, beta):
        loss = 0.0
        for i in range(7):
            query = q[0, i, 0]
            for j in range(i, -1, -1):
                loss = loss + gradient[i, j] * (query @ k[0, j, 0]) / 2
                query = query - beta[0, j, 0] * (query @ w[0, j, 0]) * w[0, j, 0]
        return loss

    found = jax.grad(loss_of_encoding, argnums=range(4))(*drawing)
    expected = jax.grad(loss_of_matrices, argnums=range(4))(*drawing)
    for found_part, expected_part in zip(found, expected, strict=True):
        np.testing.assert_allclose(found_part, expected_part, atol=2e-5)


@pytest.mark.full
@pytest.mark.parametrize("block", [4, 32])
def test_queries_may_be_a_few_slots_of_a_cache(block, monkeypatch):
    """One of them padding, in a slot beyond the last, and slots that are not filled yet."""
    monkeypatch.setattr(path, "_BLOCK", block)
    q, k, w, beta = drawn(3, 2, 11, 2, 4)
    slots = np.asarray([[2, 5, 8], [0, 7, 11]])
    few = np.stack([q[b, np.minimum(slots[b], 10)] for b in range(2)])
    k[:, 9:], w[:, 9:], beta[:, 9:] = 0, 0, 0
    found, expected = scored(build(2, 4), few, k, w, beta, slots), equation(q, k, w, beta)
    assert np.isfinite(found).all()
    for b, l in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
        i = slots[b, l]
        np.testing.assert_allclose(found[b, :, l, : i + 1], expected[b, :, i, : i + 1], atol=1e-5)


@pytest.mark.full
def test_reflections_worked_by_hand():
    """With beta = 2 along the first axis, each token after the key flips the first channel's sign.

    Powers of the matrix that is inverted would reach 3^100 here.
    """
    w, ones = np.tile([1.0, 0.0], (1, 100, 1, 1)), np.ones((1, 100, 1, 2))
    found = scored(build(1, 2), ones, ones, w, np.full((1, 100, 1), 2.0))[0, 0] * np.sqrt(2)
    place = np.arange(100)
    np.testing.assert_allclose(
        np.tril(found), np.tril(1 + (-1.0) ** (place[:, None] - place)), atol=1e-5
    )


@pytest.mark.full
def test_a_thousand_tokens_stay_right():
    """Products of H have a norm of at most 1. The last query is compared with the matrices."""
    q, k, w, beta = drawn(5, 1, 1000, 1, 8)
    found = scored(build(1, 8), q[:, -1:], k, w, beta, np.asarray([[999]]))[0, 0, 0]
    v = q[0, -1, 0]
    for j in range(999, -1, -1):
        assert abs(found[j] - v @ k[0, j, 0] / np.sqrt(8)) < 1e-5
        v = v - beta[0, j, 0] * (v @ w[0, j, 0]) * w[0, j, 0]


@pytest.mark.slow
def test_vectors_have_length_one_and_strengths_lie_below_two():
    encoding, x = build(), 3 * jax.random.normal(jax.random.key(0), (2, 5, 16))
    w, beta = encoding.features(x, jnp.arange(5)[None])[1]
    projected = (
        np.asarray(x, float)
        @ np.asarray(encoding.down.kernel[...], float)
        @ np.asarray(encoding.up.kernel[...], float)
    ).reshape(2, 5, 2, 8)
    np.testing.assert_allclose(
        w, projected / np.linalg.norm(projected, axis=-1, keepdims=True), atol=1e-3
    )
    strength = np.asarray(x, float) @ np.asarray(encoding.strength.kernel[...], float)
    np.testing.assert_allclose(beta, 2 / (1 + np.exp(-strength)), atol=1e-6)
    assert encoding.down.kernel.shape == (16, 32)


@pytest.mark.full
def test_features_of_a_zeroed_token_are_finite_in_value_and_gradient_and_float32():
    def loss(x):
        w, beta = build().features(x, jnp.arange(2)[None])[1]
        return w.sum() + beta.sum()

    grad = jax.grad(loss)(jnp.zeros((1, 2, 16)))
    assert np.isfinite(grad).all()
    w, beta = build().features(jnp.zeros((1, 2, 16), jnp.bfloat16), jnp.arange(2)[None])[1]
    np.testing.assert_array_equal(w, 0)
    assert (w.dtype, beta.dtype) == (jnp.float32, jnp.float32)


def test_w_is_the_unit_vector_of_a_convolution_with_silu():
    """The order of fla: w_proj, w_conv1d with SiLU over three tokens, l2_norm; in float64.

    A second example begins at the fourth token, and its first w reads no other.
    """
    random = np.random.default_rng(7)
    encoding = build(2, 4, convolution=3)
    q, k = random.normal(size=(2, 1, 6, 2, 4))
    w, beta = encoding.features(
        jnp.asarray(random.normal(size=(1, 6, 16)), jnp.float32), jnp.arange(6)[None]
    )[1]
    kernel, before = np.asarray(encoding.kernel[...], float), (0, 1, 2, 0, 1, 2)
    convolved = np.zeros(w.shape)
    for t, v in itertools.product(range(6), range(3)):
        if v <= before[t]:
            convolved[:, t] += kernel[v] * np.asarray(w, float)[:, t - v]
    silu = convolved / (1 + np.exp(-convolved))
    unit = silu / np.sqrt((silu**2).sum(axis=-1, keepdims=True) + 1e-6)  # fla's l2_norm
    K = dataclasses.replace(
        codes.tokens(range(6)), features=(w, beta), preceding=jnp.asarray([before])
    )
    q32, k32 = jnp.asarray(q, jnp.float32), jnp.asarray(k, jnp.float32)
    s = jnp.einsum("blhe,bshe->bhls", q32, k32) / 2
    found = np.asarray(s + encoding.content_bias(q32, k32, K, K))
    expected = equation(q, k, unit, np.asarray(beta, float))
    np.testing.assert_allclose(np.tril(found), np.tril(expected), atol=1e-5)


def test_with_convolution_and_forget_gate_it_agrees_with_fla():
    """The outputs of attention; fla divides the sums of the gates by sqrt(Dh)."""
    name = "path_fox_convolution_L6"
    given = {n: jnp.asarray(a, jnp.float32) for n, a in reference.entry(name)["inputs"].items()}
    encoding = build(2, 4, convolution=3)
    encoding.kernel[...] = given["kernel"]
    beta = 2 * jax.nn.sigmoid(given["beta_logits"])
    log_gates = jax.nn.log_sigmoid(given["gate_logits"])
    features = ((given["w"][None], beta[None]), log_gates[None])
    t = dataclasses.replace(codes.tokens(range(6)), features=features)
    encodings = (encoding, FoX(width=16, num_heads=2, scaled=True, rngs=codes.rngs()))
    q, k, v = (given[n][None] for n in "qkv")
    causal = jnp.tril(jnp.ones((6, 6), bool))[None, None]
    reference.assert_agrees(attend(encodings, q, k, v, t, t, causal)[0], name)


@pytest.mark.parametrize(
    "law",
    [
        "packed_segments_equal_separate_ones",
        "padding_does_not_reach_valid_tokens",
        "future_does_not_leak",
        "decoding_equals_the_full_forward",
    ],
)
@pytest.mark.parametrize("name", ["path", "selective_rope"])
def test_a_law_holds_with_convolution_and_forget_gate(name, law):
    laws.LAWS[law](complete(name))


@functools.cache
def complete(name):
    changes = (("num_layers", 1),)
    return Subject((dict(name=name, convolution=3), dict(name="fox")), changes=changes)
