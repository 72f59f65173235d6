"""Music Transformer and relative logits where positions are consecutive."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.music_transformer import MusicTransformer
from pe_lab.encodings.relative_logits import RelativeLogits
from pe_lab.kernels.diagonals import Diagonals


def music_transformer(
    encoding: MusicTransformer,
    diagonals: Diagonals,
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "b h l s"]:
    if not (Q.arange and K.arange):
        return encoding.content_bias(q, k, Q, K)
    num_queries, num_keys = q.shape[1], k.shape[1]
    last = num_keys if encoding.two_sided else 1  # in causal attention no key lies ahead
    row, inside = encoding.row(-jnp.arange(1 - num_queries, last))
    vectors = jnp.where(inside[None, :, None], jnp.take(encoding.table[...], row, axis=1), 0)
    # a product by example is twice as fast on a CPU
    vectors = jnp.broadcast_to(vectors, (len(q), *vectors.shape))
    by_offset = jnp.einsum("blhe,bhoe->bhlo", q / math.sqrt(q.shape[-1]), vectors)
    return diagonals.skew(by_offset, num_keys)


def relative_logits(
    encoding: RelativeLogits,
    diagonals: Diagonals,
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "b h l s"]:
    if not (Q.arange and K.arange):
        return encoding.content_bias(q, k, Q, K)
    mixture = Q.features
    distance = jnp.arange(mixture.shape[1])[::-1]
    columns = jnp.minimum(distance, encoding.extent - 1)
    profiles = jnp.take(encoding.profiles[...], columns, axis=1)
    profiles = jnp.where(distance[None] < encoding.extent, profiles, 0)
    # a product by example and head is faster on a CPU
    profiles = jnp.broadcast_to(profiles, (len(mixture), mixture.shape[2], *profiles.shape))
    by_offset = jnp.einsum("blhc,bhco->bhlo", mixture, profiles)
    return diagonals.skew(by_offset, K.positions.shape[1])
