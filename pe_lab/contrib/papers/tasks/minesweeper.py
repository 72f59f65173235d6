"""Count the mines around each cell of a board.

    M E / E E -> M 1 1 1
    M E E / E E M -> M 2 1 1 2 M

Mines (M) and empty cells (E) are written row by row. The target has, for each cell, the number of
mines among its up to eight neighbors, or M for a mine. The length is the longer side. Boards have
at least 5 rows and columns, and all boards with this longer side are equally likely: the
distribution of the paper's independent uniform sides with that maximum. Each board has its own
ratio of mines.

Papers: Cho et al. 2024 (https://arxiv.org/abs/2405.20671): "minesweeper generator", sides 5..9 in
training, up to 12 in the test; its two ids of a cell are the scheme `grid`, with max_position=21 by
default in the authors' code and 15 in their script.

Differs: the authors' code (HanseulJo/position-coupling, src/data/minesweeper.py) writes no
separator between the rows of the prompt, so that 5 x 6 and 6 x 5 look the same and only positions
show the answer; here / separates rows. There both sides are uniform on 5..9 in training, as here
with `train.lengths=dict(name="weighted", weights=(1, 3, 5, 7, 9))`; by default the longer side is.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks import _grids
from pe_lab.tasks.base import Bools, Example, Ints, Scalar, Task, Vocabulary, make_example, numerals

_MINE, _EMPTY, _SEPARATOR, _ZERO = range(4)


@dataclass(frozen=True)
class Minesweeper(Task):
    """The target has one symbol for each cell, row by row without separators: M, or 0 to 8.

    Args:
      min_side: the smallest number of rows and columns.
      min_ratio: the smallest probability of a mine; it is uniform for each board.
      max_ratio: the largest probability of a mine.
    """

    min_side: int = 5
    min_ratio: float = 0.1
    max_ratio: float = 0.25

    length_name = "fields a side"

    def __post_init__(self):
        if self.min_side < 1:
            raise ValueError(f"Minesweeper's min_side must be at least 1, got {self.min_side}.")
        if not 0 <= self.min_ratio <= self.max_ratio <= 1:
            raise ValueError(
                f"Minesweeper's ratios must ascend within 0 and 1, got {self.min_ratio} and "
                f"{self.max_ratio}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of("M", "E", "/")

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.of("M", "E", "/", *numerals(9))

    @property
    def min_length(self) -> int:
        return self.min_side

    def prompt_bound(self, length: int) -> int:
        return length * (length + 1) - 1

    def target_bound(self, length: int) -> int:
        return length * length

    def sample(self, key, length, bound, data=None) -> Example:
        sides_key, ratio_key, mines_key = jax.random.split(key, 3)
        height, width = _grids.sides(sides_key, length, self.min_side)
        ratio = jax.random.uniform(
            ratio_key,
            minval=self.min_ratio,
            maxval=self.max_ratio,
        )
        cell = jnp.arange(bound * bound)
        mask = cell < height * width
        uniform = jax.random.uniform(mines_key, cell.shape)
        mines = mask & (uniform < ratio)
        num_neighbors = _num_neighbors(mines, width)
        target = jnp.where(mines, _MINE, _ZERO + num_neighbors)

        prompt_size = self.prompt_bound(bound)
        row, column, prompt_mask, is_cell = _grids.coordinates(prompt_size, height, width)
        prompt_cell = row * width + column
        is_mine = jnp.take(mines, prompt_cell, mode="clip")
        symbols = jnp.where(is_mine, _MINE, _EMPTY)
        prompt_numbers = jnp.where(is_cell, prompt_cell + 1, 0)
        target_numbers = jnp.where(mask, cell + 1, 0)
        prompt_grid = _grids.grid_labels(row, column, is_cell)
        target_row = cell // width
        target_column = cell % width
        target_grid = _grids.grid_labels(target_row, target_column, mask)
        # A separator precedes each row of the prompt except the first one.
        source = cell + target_row
        return make_example(
            jnp.where(is_cell, symbols, _SEPARATOR),
            prompt_mask,
            target,
            mask,
            alignment=jnp.where(mines, source, -1),
            structure={
                "coupled": (prompt_numbers, target_numbers),
                "grid": (prompt_grid, target_grid),
            },
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return _grids.longer_side(prompt, _SEPARATOR)


def _num_neighbors(mines: Bools, width: Scalar) -> Ints:
    """Count the mines among the neighbors of each cell of a flat board of this width."""
    size = len(mines)
    column = jnp.arange(size) % width
    count = mines.astype(jnp.int32)
    left = jnp.pad(count, (1, 0))[:-1]
    right = jnp.pad(count, (0, 1))[1:]
    # The first and the last cell of a row have no neighbor in the next row.
    left = jnp.where(column > 0, left, 0)
    right = jnp.where(column < width - 1, right, 0)
    in_row = left + count + right
    # Zeros before the first and after the last row.
    padded_counts = jnp.pad(in_row, size)
    # The width is traced, so a shift by one row is a dynamic slice.
    above = jax.lax.dynamic_slice(padded_counts, (size - width,), (size,))
    below = jax.lax.dynamic_slice(padded_counts, (size + width,), (size,))
    return above + in_row + below - count
