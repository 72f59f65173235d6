"""Positions 0, 1, 2, …, the default.

Position of token t of n: t.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme


@dataclass(frozen=True)
class Contiguous(PositionScheme):
    """Token i has position i.

    One row serves the whole batch, so that encodings compute it once. It is 0 where every example
    has padding.
    """

    arange = True
    keeps_differences = True

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        index = jnp.arange(mask.shape[1])
        is_used = mask.any(axis=0)
        return jnp.where(is_used, index, 0)[None, None]  # [1, 1, L]

    def bound(self, length: int, train: bool) -> int | float:
        return length - 1
