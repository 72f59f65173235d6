"""Chunked attention: positions are divided into blocks of one size, and a query sees its own block.

Equation: a query sees keys with the same p // size.
Beyond training: defined, local.

Child et al. 2019, "Generating Long Sequences with Sparse Transformers",
https://arxiv.org/abs/1904.10509, whose first pattern of two has such blocks. Llama 4 uses such
chunks on its rotary layers.
"""

from typing import ClassVar

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.requirements import Requirements


class Chunks(AttentionEncoding):
    """Allows the keys of the query's chunk: those with the same floor(p / size).

    Not relative: a shift of all positions by a multiple of the size changes nothing, and any other
    shift moves the borders of the chunks.

    Args:
      size: size of a chunk, in positions.
    """

    requirements = Requirements(coarse=True, cross=True)
    example: ClassVar[dict[str, int]] = {"size": 16}

    def __init__(self, *, size: int, rngs: nnx.Rngs | None = None):
        if size < 1:
            raise ValueError(f"Chunks need a size of at least 1, got {size}.")
        self.size = size

    def mask(self, Q: Tokens, K: Tokens) -> Bool[Array, "_ _ l s"]:
        # Floored, so that the chunks of negative positions have the same size.
        query_chunks = jnp.floor_divide(Q.positions, self.size)
        key_chunks = jnp.floor_divide(K.positions, self.size)
        same_chunk = query_chunks[:, :, None] == key_chunks[:, None, :]  # [B|1, L, S]
        return same_chunk[:, None]  # in every head
