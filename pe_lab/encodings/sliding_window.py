"""A sliding window: a query sees the keys around it, up to a distance.

Equation: a query sees keys with d < size.
Beyond training: defined, local.

Child et al. 2019, "Generating Long Sequences with Sparse Transformers",
https://arxiv.org/abs/1904.10509, and Beltagy et al. 2020, "Longformer: The Long-Document
Transformer", https://arxiv.org/abs/2004.05150, who named it.

The model's field `sliding_window` counts slots of the context. This encoding counts positions and
can act on some layers only: dict(name="sliding_window", size=16, layers=(0, 1)).
"""

from typing import ClassVar

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.requirements import Requirements


class SlidingWindow(AttentionEncoding):
    """Allows the keys whose position is less than `size` away. Relative.

    Args:
      size: size in positions, including the query's own; with size 1 a token sees only itself.
    """

    requirements = Requirements(relative=True, cross=True)
    example: ClassVar[dict[str, int]] = {"size": 16}

    def __init__(self, *, size: int, rngs: nnx.Rngs | None = None):
        if size < 1:
            raise ValueError(
                "SlidingWindow's size counts the query's own position, so it is at least 1, "
                f"got {size}."
            )
        self.size = size

    def mask(self, Q: Tokens, K: Tokens) -> Bool[Array, "_ _ l s"]:
        distance = jnp.abs(relative(Q, K))
        is_near = distance < self.size  # [B|1, L, S]
        return is_near[:, None]
