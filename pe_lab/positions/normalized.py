"""The index as a fraction of the length: bounded, but steps are smaller in longer examples.

Position of token t of n: t / (n − 1).

No paper: a common second idea in introductions to position encodings; with `raw_index` it is the
normalized encoding. It needs the example's true length, and so reveals the length of the answer to
a decoder.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, indices


@dataclass(frozen=True)
class Normalized(PositionScheme):
    """Token i of n has position i / (n - 1), from 0 to 1; a single token has 0."""

    real = True
    reads_length = True

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        length = mask.sum(axis=1, keepdims=True)
        last = jnp.maximum(length - 1, 1)  # a single token is 0 / 1
        fraction = indices(mask) / last
        return fraction.astype(jnp.float32)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return 1.0
