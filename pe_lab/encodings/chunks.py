"""Chunked attention: positions fall into blocks of one size, and a query sees its own block.

Child et al. 2019, "Generating Long Sequences with Sparse Transformers", https://arxiv.org/abs/1904.10509, whose
blocks are the first of two patterns; Llama 4 gives such chunks to its rotary layers.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool

from pe_lab.encodings.base import AttentionEncoding, Tokens


class Chunks(AttentionEncoding):
    """Allows the keys of the query's chunk: those with the same floor(p / size).

    Not relative: a shift of all positions by a multiple of the size changes nothing, any other moves the borders.

    Args:
      size: of a chunk, in positions.
    """

    cross = True
    coarse = True

    def __init__(self, *, size: int):
        if size < 1:
            raise ValueError(f"Chunks need a size of at least 1, got {size}.")
        self.size = size

    def mask(self, Q: Tokens, K: Tokens) -> Bool[Array, "_ _ l s"]:
        q, k = (jnp.floor_divide(T.positions, self.size) for T in (Q, K))
        return (q[:, :, None] == k[:, None, :])[:, None]
