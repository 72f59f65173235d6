"""Two positions per token: its row and column in a grid.

Position of token t of n: (row, column) + a start for each axis, the start for other tokens.
Draws: in training.

Cho et al. 2024, "Position Coupling: Improving Length Generalization of Arithmetic Transformers
Using Task Structure", https://arxiv.org/abs/2405.20671: the two ids of its minesweeper task.

Checked against the authors' code (HanseulJo/position-coupling, src/data/minesweeper.py): the
separator has the start, cells count from start + 1, and each axis has its own start. There
evaluation starts at 1, here at 0, so that `max_position` is one less than theirs, 22. A grid with
fixed columns has no paper; it is for images that are cut into patches.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Num

from pe_lab.positions.base import Keys, Mask, PositionScheme, indices, required


@dataclass(frozen=True)
class Grid(PositionScheme):
    """A token has position start + (row, column); both numbers are 0 outside of a grid.

    By default rows and columns come from structure["grid"], from 1. In training with a
    `max_position` the start of each axis is uniform on 0..max_position - (the example's largest row
    or column). Otherwise, or if that range is empty, it is 0. `bound` assumes one row, or column,
    of all tokens. The two sequences of an encoder–decoder have the same starts if their largest
    numbers are equal, as in copying.

    Args:
      columns: token i has row i // columns and column i % columns, from 0; None for the structure
        of the task.
      max_position: the largest row and column in training, which determines the positions that are
        seen; None for a start of 0.
    """

    columns: int | None = None
    max_position: int | None = None

    ascending = False
    one_draw = True
    num_axes = 2

    def __post_init__(self):
        if self.columns is not None and self.columns < 1:
            raise ValueError(f"grid's columns must be at least 1, got {self.columns}.")
        if self.max_position is not None and self.max_position < 1:
            raise ValueError(f"grid's max_position must be at least 1, got {self.max_position}.")
        if self.columns is not None and self.max_position is not None:
            raise ValueError(
                f"grid with columns={self.columns} draws nothing, so it takes no max_position, "
                f"got {self.max_position}."
            )

    @property
    def follows(self) -> str | None:  # type: ignore[override]
        return "grid" if self.columns is None else None

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l a"]:
        if self.columns is not None:
            index = indices(mask)
            row = index // self.columns
            column = index % self.columns
            return jnp.stack([row, column], axis=-1)[None]
        numbers = required(self, structure, "grid")
        numbers = jnp.where(mask[..., None], numbers, 0)
        if self.max_position is None or not train:
            return numbers[None]
        largest = numbers.max(axis=1)
        last_start = jnp.maximum(self.max_position - largest, 0)  # [B, 2]

        def draw(key, most):
            return jax.random.randint(key, (2,), 0, most + 1)

        start = jax.vmap(draw)(keys, last_start)
        positions = numbers + start[:, None]  # start is [B, 2]
        return jnp.where(mask[..., None], positions, 0)[None]

    def bound_on(self, axis: int, length: int, train: bool, parts: Sequence[int]) -> int | float:
        if self.columns is not None:
            last_row = (length - 1) // self.columns
            last_column = min(length, self.columns) - 1
            return (last_row, last_column)[axis]
        longest = max(parts)
        if train and self.max_position is not None:
            return max(longest, self.max_position)
        return longest

    def bound(self, length: int, train: bool) -> int | float:
        parts = (length,)
        row_bound = self.bound_on(0, length, train, parts)
        column_bound = self.bound_on(1, length, train, parts)
        return max(row_bound, column_bound)
