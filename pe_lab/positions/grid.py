"""A sequence read as a grid: two positions a token, row and column.

No paper: the order in which images are cut into patches, and sums written below each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, indices


@dataclass(frozen=True)
class Grid(PositionScheme):
    """Token i has row i // columns (axis 0) and column i % columns (axis 1): row after row, the row first.

    Args:
      columns: tokens a row.
    """

    columns: int

    ascending = False
    num_axes = 2

    def __post_init__(self):
        if self.columns < 1:
            raise ValueError(f"grid's columns must be at least 1, got {self.columns}.")

    def __call__(self, keys: Keys, mask: Bool[Array, "b l"], *, segments=None, structure=None, train: bool) -> Num[Array, "n _ l a"]:
        index = indices(mask)
        return jnp.stack([index // self.columns, index % self.columns], axis=-1)[None]

    def bound_on(self, axis: int, length: int, train: bool, parts: Sequence[int]) -> int | float:
        return ((length - 1) // self.columns, min(length, self.columns) - 1)[axis]

    def bound(self, length: int, train: bool) -> int | float:
        return max(self.bound_on(axis, length, train, (length,)) for axis in range(2))
