"""Music Transformer and relative logits for consecutive positions, on CPUs and accelerators.

They replace `content_bias`. The plain forms multiply by every row of their tables and gather the
row of each pair, with a scatter as their gradient. These multiply by the rows of the offsets that
occur, and spread the products without a gather.
"""

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
    num_queries = q.shape[1]
    num_keys = k.shape[1]
    last = num_keys if encoding.two_sided else 1  # in causal attention no key lies ahead
    offsets = jnp.arange(1 - num_queries, last)
    row, inside = encoding.row(-offsets)
    vectors = jnp.take(encoding.table[...], row, axis=1)
    vectors = jnp.where(inside[None, :, None], vectors, 0)  # [H, O, Dh]
    # A product by example is twice as fast on a CPU.
    vectors = jnp.broadcast_to(vectors, (len(q), *vectors.shape))
    q = q / math.sqrt(q.shape[-1])
    by_offset = jnp.einsum("blhe,bhoe->bhlo", q, vectors)
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
    mixture = Q.features  # [B, L, H, C]
    batch, num_queries, num_heads, _ = mixture.shape
    num_keys = K.positions.shape[1]
    distance = jnp.arange(num_queries)[::-1]
    columns = jnp.minimum(distance, encoding.extent - 1)
    profiles = jnp.take(encoding.profiles[...], columns, axis=1)
    is_inside = distance[None] < encoding.extent
    profiles = jnp.where(is_inside, profiles, 0)  # [C, O]
    # A product by example and head is faster on a CPU.
    profiles = jnp.broadcast_to(profiles, (batch, num_heads, *profiles.shape))
    by_offset = jnp.einsum("blhc,bhco->bhlo", mixture, profiles)
    return diagonals.skew(by_offset, num_keys)
