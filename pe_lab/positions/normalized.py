"""The index as a fraction of the length: bounded, but steps are smaller in longer examples.

Position of token t of n: t / (n − 1).

No paper: a common second idea in introductions to position encodings; with `raw_index` it is the
normalized encoding. It needs the example's true length, and so reveals the length of the answer to
a decoder.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, indices


@dataclass(frozen=True)
class Normalized(PositionScheme):
    """Token i of n has position i / (n - 1), from 0 to 1; a single token has 0."""

    real = True
    reads_length = True

    def __call__(
        self, keys: Keys, mask: Bool[Array, "b l"], *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l"]:
        length = mask.sum(axis=1, keepdims=True)
        return (indices(mask) / jnp.maximum(length - 1, 1)).astype(jnp.float32)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return 1.0
