"""Transformer-XL on CPUs and accelerators, without a sinusoid for each pair.

It replaces `content_bias`. The plain form projects an array [L, S, D]. This one projects one
sinusoid for each offset where positions are consecutive, and elsewhere one for each token.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.ops import angles, rotate
from pe_lab.encodings.transformer_xl import TransformerXL
from pe_lab.kernels.diagonals import Diagonals


def content_bias(
    encoding: TransformerXL,
    diagonals: Diagonals,
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "b h l s"]:
    """Consecutive positions: each distance is projected once. Others: the sine of a difference.

    R(i - j) is a rotation of R(-j) by i, so (q + v)·W_R R(i - j) = (W_R' (q + v) rotated by
    i)·R(-j), a product of D channels a head instead of Dh.
    """
    v = encoding.position_bias[...][None, None]
    q = (q + v) / math.sqrt(q.shape[-1])
    projection = encoding.projection[...]  # W_R
    if Q.arange and K.arange:
        num_queries = q.shape[1]
        num_keys = k.shape[1]
        last = num_keys if encoding.two_sided else 1  # in causal attention no key lies ahead
        offset = jnp.arange(1 - num_queries, last)
        R = encoding.sinusoid(-offset)  # [O, D]
        projected = jnp.einsum("od,dhe->ohe", R, projection)
        # A product by example is twice as fast on a CPU.
        projected = jnp.broadcast_to(projected, (len(q), *projected.shape))
        by_offset = jnp.einsum("blhe,bohe->bhlo", q, projected)
        return diagonals.skew(by_offset, num_keys)
    in_channels = jnp.einsum("blhe,dhe->blhd", q, projection)
    rotation = angles(Q.positions, encoding.frequencies)
    rotation = rotation[:, :, None]  # the same for all heads
    rotated = rotate(in_channels, rotation, "half")  # pairs of a sine and a cosine
    keys = encoding.sinusoid(-K.positions)
    _, num_keys, width = keys.shape
    keys = jnp.broadcast_to(keys, (len(q), num_keys, width))
    return jnp.einsum("blhd,bsd->bhls", rotated, keys)
