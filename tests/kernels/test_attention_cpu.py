"""The form of attention for CPUs: equal to the explicit one, its gradient written out, safe where
exp would overflow.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_lab.encodings.ops import masked_softmax
from pe_lab.kernels import attention_cpu
from tests.marks import full

HEADS, BATCH = 3, 2


def normal(seed, *shape):
    return jax.random.normal(jax.random.key(seed), shape)


def inputs(queries, keys, width, values, bias, spread):
    """q, k, v, mask and bias; the first query of the first example sees nothing."""
    q, k, v = (
        normal(i, BATCH, n, HEADS, w)
        for i, (n, w) in enumerate([(queries, width), (keys, width), (keys, values)])
    )
    mask = (
        jax.random.bernoulli(jax.random.key(3), 0.7, (BATCH, 1, queries, keys))
        .at[0, 0, 0]
        .set(False)
    )
    return (
        spread * q,
        k,
        v,
        mask,
        None if bias is None else spread * normal(4, *bias, queries, keys),
    )


def explicit(q, k, v, mask, bias):
    s = jnp.einsum("blhf,bshf->bhls", q, k)
    return jnp.einsum("bhls,bshe->blhe", masked_softmax(s if bias is None else s + bias, mask), v)


def rounding(q, k, v, mask, bias):
    """Of a weight, relative to itself: what float32 leaves of the largest logit."""
    s = jnp.einsum("blhf,bshf->bhls", jnp.abs(q), jnp.abs(k))
    return (
        4
        * float(jnp.finfo(jnp.float32).eps)
        * max(1.0, float((s if bias is None else s + jnp.abs(bias)).max()))
    )


def with_gradients(function, q, k, v, mask, bias):
    weights = normal(5, BATCH, q.shape[1], HEADS, v.shape[-1])
    arguments = (q, k, v) if bias is None else (q, k, v, bias)

    def loss(*given):
        return (function(*given[:3], mask, given[3] if len(given) > 3 else None) * weights).sum()

    return jax.jit(
        lambda given: (
            function(q, k, v, mask, bias),
            jax.grad(loss, argnums=range(len(given)))(*given),
        )
    )(arguments)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1, 40], ids=["direct", "shifted"])
@pytest.mark.parametrize("bias", [None, (1, HEADS), full((BATCH, HEADS)), full((1, 1))])
@pytest.mark.parametrize(
    ("queries", "keys", "width", "values"), [(6, 6, 8, 8), (1, 5, 4, 3), (5, 7, 32, 2)]
)
def test_it_and_its_gradient_are_those_of_the_explicit_form(
    queries, keys, width, values, bias, spread
):
    given = inputs(queries, keys, width, values, bias, spread)
    (out, gradients), (expected, slopes) = (
        with_gradients(f, *given) for f in (attention_cpu.attention, explicit)
    )
    noise = rounding(*given)
    np.testing.assert_allclose(out, expected, atol=noise * np.abs(given[2]).max())
    for ours, theirs in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=4 * noise * np.abs(theirs).max())
    assert (np.asarray(out[0, 0]) == 0).all()


def causal(tokens, mask):
    """The mask without later keys."""
    return mask & jnp.tril(jnp.ones((tokens, tokens), bool))[None, None]


def in_blocks(q, k, v, mask, bias=None):
    return attention_cpu.attention(q, k, v, mask, bias, causal=True)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1, 40], ids=["direct", "shifted"])
@pytest.mark.parametrize("bias", [None, (1, HEADS), full((BATCH, HEADS))])
@pytest.mark.parametrize("tokens", [5, 8, 13])
def test_causal_attention_in_blocks_and_its_gradient_are_those_of_the_explicit_form(
    tokens, bias, spread, monkeypatch
):
    monkeypatch.setattr(attention_cpu, "_BLOCK", 4)
    q, k, v, mask, bias = inputs(tokens, tokens, 8, 3, bias, spread)
    given = (q, k, v, causal(tokens, mask), bias)
    (out, gradients), (expected, slopes) = (
        with_gradients(f, *given) for f in (in_blocks, explicit)
    )
    noise = rounding(*given)
    np.testing.assert_allclose(out, expected, atol=noise * np.abs(v).max())
    for ours, theirs in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=4 * noise * np.abs(theirs).max())


def test_later_keys_are_never_computed_in_blocks(monkeypatch):
    """NaN in keys beyond a block would reach its queries through a product with 0."""
    monkeypatch.setattr(attention_cpu, "_BLOCK", 4)
    q, k, v, mask, _ = inputs(8, 8, 8, 8, None, 1)
    v = v.at[:, 4:].set(jnp.nan)
    out = in_blocks(q, k, v, causal(8, mask))
    assert np.isfinite(out[:, :4]).all()
    assert np.isnan(out[:, 4:]).any()


def test_a_context_of_one_block_has_the_same_bits_as_without_blocks():
    q, k, v, mask, bias = inputs(128, 128, 8, 8, (1, HEADS), 1)
    mask = causal(128, mask)
    np.testing.assert_array_equal(
        in_blocks(q, k, v, mask, bias), attention_cpu.attention(q, k, v, mask, bias)
    )


def test_a_bias_that_falls_with_distance_is_small_at_the_own_keys_of_a_block():
    """So that blocks need no maximum with ALiBi, as whole contexts do not."""
    distance = jnp.arange(8)[:, None] - jnp.arange(8)[None]
    bias = -100.0 * jnp.abs(distance)[None, None]
    mask = (distance >= 0)[None, None]
    of_block = (jnp.swapaxes(x, 2, 3)[..., 4:] for x in (bias, mask))  # keys before queries
    assert attention_cpu._reach(*of_block, is_block=True) == 0


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.floats(0, 300), st.floats(0, 3000), st.booleans(), st.integers(0, 100))
def test_the_maximum_is_left_out_only_where_exp_is_safe(spread, slope, causal, seed):
    """Biases up to a slope of 3,000 a token, such as ALiBi's on long contexts: nothing overflows,
    no row vanishes.
    """
    q, k, v = (normal(seed + i, BATCH, 6, HEADS, 8) for i in range(3))
    mask = jnp.broadcast_to(
        jnp.tril(jnp.ones((6, 6), bool)) if causal else jnp.ones((6, 6), bool), (BATCH, 1, 6, 6)
    )
    distance = jnp.abs(jnp.arange(6)[:, None] - jnp.arange(6)[None])
    bias = -slope * distance.astype(jnp.float32)[None, None]
    given = (q * spread, k, v, mask, bias)
    np.testing.assert_allclose(
        _compiled(*given), explicit(*given), atol=rounding(*given) * np.abs(v).max()
    )


_compiled = jax.jit(attention_cpu.attention)


@pytest.mark.slow
def test_large_logits_would_overflow_without_the_maximum(monkeypatch):
    given = inputs(6, 6, 8, 8, None, 100)
    assert np.isfinite(attention_cpu.attention(*given)).all()
    monkeypatch.setattr(attention_cpu, "_SAFE_LOGIT", 1e9)
    assert not np.isfinite(attention_cpu.attention(*given)).all()


@pytest.mark.slow
def test_a_bias_that_hides_all_that_is_allowed_is_no_empty_row():
    """The highest bias of each row is at a key that the mask forbids, 200 above the others."""
    q, k, v, _, _ = inputs(4, 4, 8, 8, None, 1)
    mask = (
        jnp.broadcast_to(jnp.arange(4) > 0, (BATCH, 1, 4, 4)) & ~jnp.eye(4, dtype=bool)[None, None]
    )
    given = (
        q,
        k,
        v,
        mask,
        jnp.broadcast_to(jnp.where(jnp.arange(4) == 0, 200.0, 0.0), (1, HEADS, 4, 4)),
    )
    np.testing.assert_allclose(attention_cpu.attention(*given), explicit(*given), atol=2e-6)


@pytest.mark.slow
def test_what_is_not_finite_stays_so_and_padding_does_not_spread():
    q, k, v, _, _ = inputs(4, 4, 8, 8, None, 1)
    mask = jnp.ones((BATCH, 1, 4, 4), bool).at[:, :, :, 3].set(False)
    assert np.isnan(attention_cpu.attention(q.at[0, 1].set(jnp.nan), k, v, mask)[0, 1]).all()


@pytest.mark.slow
def test_half_precision_comes_back_as_it_came():
    q, k, v, mask, _ = inputs(6, 6, 8, 8, None, 1)
    out = attention_cpu.attention(*(x.astype(jnp.bfloat16) for x in (q, k, v)), mask)
    assert out.dtype == jnp.bfloat16
    np.testing.assert_allclose(
        out.astype(jnp.float32), attention_cpu.attention(q, k, v, mask), atol=0.05
    )


@pytest.mark.slow
def test_queries_that_see_nothing_do_not_widen_the_reach_of_a_bias():
    """Padding is blind, so that a bias which falls with distance counts where queries meet
    themselves, and needs no maximum.
    """
    bias = (
        -jnp.abs(jnp.arange(8)[:, None] - jnp.arange(8)[None])[None, None].astype(jnp.float32) * 20
    )
    mask = (jnp.arange(8) < 5)[:, None] & (jnp.arange(8) < 5)[None]
    assert attention_cpu._reach(bias, mask[None, None]) == 0
    assert attention_cpu._reach(bias, mask.at[2, 2].set(False)[None, None]) == 140
