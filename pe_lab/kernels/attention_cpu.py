"""Exact softmax attention for CPUs and narrow heads, with its own gradient.

It replaces logits, softmax and weighted sum in `attend`. The plain form has the few channels of a
head on the minor axis; a CPU computes it slowly, for four reasons that are avoided here:
  Tokens are on the minor axis, so that they fill the vector registers.
  Products of narrow heads are multiply-adds, which are fused with the exponential.
  The weighted sum is normalized at the end, and its denominators are a row of the same product.
  The maximum is subtracted only if exp could overflow.
Causal attention over long contexts is computed in blocks of queries, each with the keys up to its
end, so that most of the pairs that the mask hides are never computed.

Shape letters here: H heads, B batch, F channels of queries and keys, E channels of values, S keys,
L queries. Arrays are [H, B, channels, tokens], logits [H, B, S, L].
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from pe_lab.kernels.biases_cpu import PAIRS, Bias, sum_shared

_BATCH = ((0, 1), (0, 1))  # batch axes of a product: heads and examples
_CHANNELS, _KEYS, _TOKENS = 2, 2, 3  # axes of [H, B, channels, tokens] and of [H, B, S, L]
_TOKENS_LAST = (2, 0, 3, 1)  # from [B, L, H, E] to [H, B, E, L]
_TOKENS_SECOND = (1, 3, 0, 2)  # and back
# exp(60) is 1e26 and exp(-60) is 1e-26: sums of such exponentials times values fit float32.
_SAFE_LOGIT = 60.0
_NARROW = 16  # channels up to which multiply-adds are faster than a product of matrices
# Queries of a block in causal attention. A shorter block computes fewer hidden pairs and has more
# products; a context of one block has the same numbers as without blocks.
_BLOCK = 128

Channels = Float[Array, "h b _ _"]
Pairs = Float[Array, "h b s l"]
Mask = Bool[Array, "_ _ s l"]
Saved = tuple[Channels, Channels, Channels, Pairs, Channels, Channels, Array | None]


def attention(
    q: Float[Array, "b l h f"],
    k: Float[Array, "b s h f"],
    v: Float[Array, "b s h e"],
    mask: Bool[Array, "_ _ l s"],
    bias: Float[Array, "_ _ l s"] | None = None,
    scale: float = 1.0,
    causal: bool = False,
) -> Float[Array, "b l h e"]:
    """softmax(scale q·k + bias) v over the allowed keys; zeros for a query that sees no key.

    Args:
      causal: there are as many keys as queries, and the mask hides every later key.
    """
    dtype = v.dtype
    q = _tokens_last(q)
    k = _tokens_last(k)
    v = _tokens_last(v)
    q = q * scale  # not the logits, which are far more numbers in long contexts
    mask = jnp.transpose(mask, PAIRS)
    if bias is not None:
        bias = bias.astype(jnp.float32)
        bias = jnp.transpose(bias, PAIRS)
    num_queries = q.shape[_TOKENS]
    if causal and num_queries > _BLOCK:
        starts = range(0, num_queries, _BLOCK)
        biases: Sequence[Bias | None] = [None] * len(starts)
        if bias is not None:
            # The gradient of a split is one concatenation; that of slices adds padded arrays.
            sizes = [min(_BLOCK, num_queries - start) for start in starts]
            biases = lax.split(bias, sizes, _TOKENS)
        blocks = [
            _block(q, k, v, mask, bias_of_block, start)
            for bias_of_block, start in zip(biases, starts, strict=True)
        ]
        out = jnp.concatenate(blocks, _TOKENS)
    else:
        out = _attention(q, k, v, mask, bias, False)
    out = jnp.transpose(out, _TOKENS_SECOND)  # from [H, B, E, L]
    return out.astype(dtype)


def _block(
    q: Float[Array, "h b f l"],
    k: Float[Array, "h b f l"],
    v: Float[Array, "h b e l"],
    mask: Mask,
    bias: Float[Array, "_ _ l m"] | None,
    start: int,
) -> Float[Array, "h b e m"]:
    """Causal attention of the queries of one block, over the keys up to the end of the block.

    Args:
      bias: of these queries and all keys.
    """
    end = min(start + _BLOCK, q.shape[_TOKENS])
    if bias is not None:
        bias = bias[:, :, :end]
    q_of_block = q[..., start:end]
    mask_of_block = mask[:, :, :end, start:end]
    return _attention(q_of_block, k[..., :end], v[..., :end], mask_of_block, bias, True)


def _tokens_last(x: Float[Array, "b l h e"]) -> Float[Array, "h b e l"]:
    # Softmax is float32 in every model, and half precision is no faster on a CPU.
    x = x.astype(jnp.float32)
    return jnp.transpose(x, _TOKENS_LAST)


@functools.partial(jax.custom_vjp, nondiff_argnums=(5,))
def _attention(
    q: Float[Array, "h b f l"],
    k: Float[Array, "h b f s"],
    v: Float[Array, "h b e s"],
    mask: Mask,
    bias: Bias | None,
    is_block: bool,
) -> Float[Array, "h b e l"]:
    """Attention in the layout of this file.

    Args:
      is_block: the last keys are those of the queries' own tokens, as in a block.
    """
    out, _ = _forward(q, k, v, mask, bias, is_block)
    return out


def _forward(
    q: Float[Array, "h b f l"],
    k: Float[Array, "h b f s"],
    v: Float[Array, "h b e s"],
    mask: Mask,
    bias: Bias | None,
    is_block: bool,
) -> tuple[Float[Array, "h b e l"], Saved]:
    exponentials = _exponentials(q, k, mask, bias, is_block)
    values_and_ones = _with_ones(v)
    sums = _dot(values_and_ones, exponentials, _TOKENS, _KEYS)  # [H, B, E + 1, L]
    total = sums[:, :, -1:]  # the weighted sum of the ones
    # With finite logits, the total is 0 only for a query without keys: the largest exponential of
    # any other query is at least exp(-_SAFE_LOGIT).
    sees_a_key = total > 0
    inverse = 1 / jnp.where(sees_a_key, total, 1)
    # A query without keys has a total of 0 and gets zeros; a NaN stays NaN.
    zero_or_nan = jnp.where(total == 0, 0, total)
    inverse = jnp.where(sees_a_key, inverse, zero_or_nan)
    weighted_sum = sums[:, :, :-1]
    out = weighted_sum * inverse
    shape_of_bias = None
    if bias is not None:
        shape_of_bias = bias[:, :, :0]  # only arrays are saved: this one is empty and has the axes
    # The exponentials are the one array of [S, L] that is kept. The weights are their product with
    # `inverse`, which the backward pass applies to arrays of one number or few a query.
    saved = (q, k, v, exponentials, out, inverse, shape_of_bias)
    return out, saved


def _backward(
    is_block: bool, saved: Saved, g: Float[Array, "h b e l"]
) -> tuple[Array, Array, Array, None, Array | None]:
    q, k, v, exponentials, out, inverse, shape_of_bias = saved
    # Weights are exponentials times the inverse of their sum; g takes this factor. It is 0 for a
    # query without keys, whose gradients are then 0.
    g = g * inverse
    # Gradient of softmax: the gradient of a logit is its weight times (g·v minus the weighted mean
    # of g·v over keys), and this mean is g·out.
    correction = (g * out).sum(_CHANNELS, keepdims=True)
    # One product gives g·v minus the correction. The barrier makes XLA write its factors to memory
    # instead of fusing the concatenations into the product.
    g_and_correction = jnp.concatenate([g, -correction], _CHANNELS)
    values_and_ones = _with_ones(v)
    factors = (g_and_correction, values_and_ones)
    g_and_correction, values_and_ones = lax.optimization_barrier(factors)
    s_gradient = exponentials * _outer(values_and_ones, g_and_correction)
    g = g_and_correction[:, :, :-1]
    bias_gradient = None
    if shape_of_bias is not None:
        bias_gradient = sum_shared(s_gradient, shape_of_bias.shape)
    # The first factor has the channels, so that gradients have the layout of q, k and v.
    q_gradient = _dot(k, s_gradient, _TOKENS, _KEYS)  # [H, B, F, L], summed over keys
    k_gradient = _dot(q, s_gradient, _TOKENS, _TOKENS)  # [H, B, F, S], summed over queries
    v_gradient = _dot(g, exponentials, _TOKENS, _TOKENS)  # [H, B, E, S]; g has the inverse
    return q_gradient, k_gradient, v_gradient, None, bias_gradient  # None: of the mask


def _with_ones(v: Float[Array, "h b e s"]) -> Float[Array, "h b f s"]:
    """Values and one more channel of ones, whose weighted sum is the sum of weights."""
    ones = jnp.ones_like(v[:, :, :1])
    return jnp.concatenate([v, ones], axis=_CHANNELS)


def _exponentials(
    q: Float[Array, "h b f l"],
    k: Float[Array, "h b f s"],
    mask: Mask,
    bias: Bias | None,
    is_block: bool,
) -> Pairs:
    """exp of the logits, up to one factor for each query; 0 where masked."""

    def direct(q: Array, k: Array) -> Array:
        s = _logits(q, k, bias)
        return jnp.where(mask, jnp.exp(s), 0.0)

    def shifted(q: Array, k: Array) -> Array:
        s = _logits(q, k, bias)
        # Not -inf: in the row of a query without keys, -inf minus its maximum would be NaN.
        least = jnp.finfo(jnp.float32).min
        s = jnp.where(mask, s, least)
        s = s - s.max(_KEYS, keepdims=True)
        # Masked again: a query without keys has its maximum at every key, and exp(0) is 1.
        return jnp.where(mask, jnp.exp(s), 0.0)

    # The maximum of each query would be one more pass over all logits. The norms below are far
    # smaller arrays, and bound every logit at once. No product is larger, by Cauchy and Schwarz.
    q_squared = jnp.square(q).sum(_CHANNELS)
    largest_q_squared = q_squared.max()
    k_squared = jnp.square(k).sum(_CHANNELS)
    largest_k_squared = k_squared.max()
    largest_product = jnp.sqrt(largest_q_squared * largest_k_squared)
    largest_logit = largest_product + _reach(bias, mask, is_block)
    # NaN is not safe, so `shifted` shows it. Under vmap a cond computes both branches: on a CPU the
    # members of a group are mapped instead (training/setup.py).
    is_safe = largest_logit < _SAFE_LOGIT
    # The branches differ by one factor for each query, which the division by the total removes. So
    # one backward pass serves both.
    return lax.cond(is_safe, direct, shifted, q, k)


def _logits(
    q: Float[Array, "h b f l"],
    k: Float[Array, "h b f s"],
    bias: Bias | None,
) -> Pairs:
    product = _outer(k, q)
    return product if bias is None else product + bias


def _reach(bias: Bias | None, mask: Mask, is_block: bool = False) -> Float[Array, ""] | float:
    """Largest bias at any key, or largest negative bias at the best visible key of a query.

    Where every query sees its own key, the bias of that key bounds the best one from below.
    """
    if bias is None:
        return 0.0
    # Masks apply after the bias, so the smallest bias bounds the best visible one of any query.
    lowest = bias.min()
    num_keys, num_queries = bias.shape[2:]
    # A bias that falls with distance, such as ALiBi's, is far below 0 at the farthest key, but 0 at
    # the query's own key. In cross-attention with as many keys as queries, the key of the same
    # index is another token, but it bounds the best key, too, where it is visible.
    if num_keys == num_queries or is_block:
        num_earlier = num_keys - num_queries
        sees_itself = jnp.diagonal(mask, -num_earlier, axis1=2, axis2=3)
        sees_no_key = ~mask.any(axis=_KEYS)  # padding, whose output is 0 with any bias
        has_bound = (sees_itself | sees_no_key).all()
        bias_of_itself = jnp.diagonal(bias, -num_earlier, axis1=2, axis2=3)
        lowest_of_itself = bias_of_itself.min()
        lowest = jnp.where(has_bound, lowest_of_itself, lowest)
    return jnp.maximum(bias.max(), -lowest)


def _outer(a: Float[Array, "h b f s"], b: Float[Array, "h b f l"]) -> Pairs:
    """a[..., f, s] b[..., f, l] summed over channels f."""
    channels = a.shape[_CHANNELS]
    if channels > _NARROW:
        return _dot(a, b, _CHANNELS, _CHANNELS)

    # Unrolled: XLA fuses the multiply-adds with the next operation and writes no logits to memory.
    def product(channel: int) -> Pairs:
        column = a[:, :, channel, :, None]
        row = b[:, :, channel, None, :]
        return column * row

    total = product(0)
    for channel in range(1, channels):
        total = total + product(channel)
    return total


def _dot(
    a: Float[Array, "..."],
    b: Float[Array, "..."],
    axis_a: int,
    axis_b: int,
) -> Float[Array, "..."]:
    """The product over one axis of each, for every head and example."""
    contracted = ((axis_a,), (axis_b,))
    return lax.dot_general(a, b, (contracted, _BATCH))


_attention.defvjp(_forward, _backward)
