"""Copy a grid of symbols, as it is, transposed or flipped.

    0 1 2 / 3 4 5 -> 0 1 2 / 3 4 5
    0 1 2 / 3 4 5 -> 0 3 / 1 4 / 2 5  # form="transposed"
    0 1 2 / 3 4 5 -> 2 1 0 / 5 4 3  # form="flipped"

Read as one string, a copied grid is a copied string; of the others each symbol comes from a
distance that changes along the target, while in rows and columns they are one rule for every place.
A length is the longer side; all grids with it are equally likely.

No paper: `copy` and `reverse` on two axes, for schemes and encodings that have two.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks import _grids
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class CopyGrid(Task):
    """The target is the grid again, written as the prompt is, with / between rows.

    Args:
      form: copied; transposed: columns become rows; flipped: each row from its end to its start.
      num_symbols: of the cells, each uniform.
      min_side: the fewest rows and columns.
    """

    form: Literal["copied", "transposed", "flipped"] = "copied"
    num_symbols: int = 10
    min_side: int = 2

    length_name = "cells a side"

    def __post_init__(self):
        if self.num_symbols < 2:
            raise ValueError(
                f"copy_grid needs two symbols or more, got num_symbols={self.num_symbols}."
            )
        if self.min_side < 1:
            raise ValueError(f"copy_grid's min_side must be at least 1, got {self.min_side}.")

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols + 1, (*map(str, range(self.num_symbols)), "/"))

    @property
    def min_length(self) -> int:
        return self.min_side

    def prompt_bound(self, length: int) -> int:
        return length * (length + 1) - 1

    def target_bound(self, length: int) -> int:
        return length * (length + 1) - 1

    def sample(self, key, length, bound, data=None) -> Example:
        of_sides, of_symbols = jax.random.split(key)
        height, width = _grids.sides(of_sides, length, self.min_side)
        size, sign = self.prompt_bound(bound), self.num_symbols
        row, column, inside, is_cell = _grids.places(size, height, width)
        symbols = jax.random.randint(of_symbols, (size,), 0, self.num_symbols)
        prompt = jnp.where(is_cell, symbols, jnp.where(inside, sign, 0))

        turned = (width, height) if self.form == "transposed" else (height, width)
        to_row, to_column, said, says_cell = _grids.places(size, *turned)
        from_row, from_column = (
            (to_column, to_row) if self.form == "transposed" else (to_row, to_column)
        )
        if self.form == "flipped":
            from_column = width - 1 - to_column
        source = jnp.where(says_cell, from_row * (width + 1) + from_column, -1)
        target = jnp.where(
            says_cell, jnp.take(prompt, source, mode="clip"), jnp.where(said, sign, 0)
        )
        grid = (
            _grids.positions(row, column, is_cell),
            _grids.positions(to_row, to_column, says_cell),
        )
        return Example(prompt, inside, target, said, said, source, structure={"grid": grid})

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return max(len(board := _grids.rows(prompt, self.num_symbols)), len(board[0]))

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        board = _grids.rows(prompt, self.num_symbols)
        turned = {
            "copied": board,
            "transposed": [list(column) for column in zip(*board, strict=True)],
            "flipped": [row[::-1] for row in board],
        }[self.form]
        return np.array([symbol for row in turned for symbol in (*row, self.num_symbols)][:-1])
