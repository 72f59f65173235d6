"""Biases of positions alone, for consecutive positions, on CPUs and accelerators.

They replace `bias`. The plain form computes a number for each of L * S pairs; there are only
L + S - 1 offsets, so these compute a number for each offset and spread it.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pe_lab.encodings.base import OffsetBias, Tokens
from pe_lab.encodings.fire import EPSILON, FIRE
from pe_lab.encodings.ops import angles
from pe_lab.encodings.sandwich import Sandwich
from pe_lab.kernels.diagonals import Diagonals


def offset_bias(
    encoding: OffsetBias,
    diagonals: Diagonals,
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "_ h l s"]:
    """The bias of L+S-1 offsets instead of L * S pairs."""
    if not (Q.arange and K.arange):
        return encoding.bias(Q, K)
    num_queries = Q.positions.shape[1]
    num_keys = K.positions.shape[1]
    offsets = jnp.arange(1 - num_queries, num_keys)
    by_offset = encoding.of_offset(offsets)  # [H, L + S - 1]
    bias = diagonals.toeplitz(by_offset, num_queries)
    return bias[None]


def sandwich(
    encoding: Sandwich,
    diagonals: Diagonals,
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "_ h l s"]:
    """cos(a - b) = cos a cos b + sin a sin b, which needs no array [B, L, S, C]."""
    if Q.arange and K.arange:
        return offset_bias(encoding, diagonals, Q, K)
    q = angles(Q.positions, encoding.frequencies)
    k = angles(K.positions, encoding.frequencies)
    products = "blc,bsc->bls"
    cosines = jnp.einsum(products, jnp.cos(q), jnp.cos(k))
    sines = jnp.einsum(products, jnp.sin(q), jnp.sin(k))
    sum_of_cosines = cosines + sines
    at_distance_0 = len(encoding.frequencies)
    by_head = encoding.by_head(sum_of_cosines - at_distance_0)
    return jnp.moveaxis(by_head, 0, 1)


def fire(
    encoding: FIRE,
    diagonals: Diagonals,
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "_ h l s"]:
    """Below the threshold the network depends on the distance alone, and sees L+S-1 distances."""
    if not (Q.arange and K.arange):
        return encoding.bias(Q, K)
    num_queries = Q.positions.shape[1]
    num_keys = K.positions.shape[1]

    def of_distances() -> Float[Array, "1 h l s"]:
        offsets = jnp.arange(1 - num_queries, num_keys)
        distance = jnp.abs(offsets).astype(jnp.float32)
        # max(i, threshold) is the threshold for every query.
        scale = encoding.psi(encoding.threshold) + EPSILON
        normalized = encoding.psi(distance) / scale
        row_of_pairs = normalized.reshape(1, 1, 1, -1)  # the network reads [B, 1, L, S]
        by_head = encoding.network(row_of_pairs)
        by_offset = by_head[0, :, 0]
        bias = diagonals.toeplitz(by_offset, num_queries)
        return bias[None]

    # jax.lax.cond reserves memory for the residuals of both branches, so this one saves none.
    of_pairs = jax.checkpoint(lambda: encoding.bias(Q, K))
    is_below = Q.positions.max() <= encoding.threshold
    return jax.lax.cond(is_below, of_distances, of_pairs)
