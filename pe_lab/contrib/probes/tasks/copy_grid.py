"""Copy a grid of symbols unchanged, transposed or flipped.

    0 1 2 / 3 4 5 -> 0 1 2 / 3 4 5
    0 1 2 / 3 4 5 -> 0 3 / 1 4 / 2 5  # form="transposed"
    0 1 2 / 3 4 5 -> 2 1 0 / 5 4 3  # form="flipped"

As one string, a copied grid is a copied string. In the other forms the distance from a target token
to its prompt symbol changes along the target, while in rows and columns one rule holds everywhere.
The length is the longer side; all grids with this longer side are equally likely.

No paper: `copy` and `reverse` on two axes, for schemes and encodings with two axes.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks import _grids
from pe_lab.tasks._strings import check_num_symbols, rearranged
from pe_lab.tasks.base import Example, Task, Vocabulary, numerals


@dataclass(frozen=True)
class CopyGrid(Task):
    """The target is the grid, written like the prompt with / between rows.

    Args:
      form: "copied"; "transposed": rows become columns; "flipped": each row is reversed.
      num_symbols: the number of uniform symbols of the cells.
      min_side: the smallest number of rows and columns.
    """

    form: Literal["copied", "transposed", "flipped"] = "copied"
    num_symbols: int = 10
    min_side: int = 2

    length_name = "cells a side"

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)
        if self.min_side < 1:
            raise ValueError(f"CopyGrid's min_side must be at least 1, got {self.min_side}.")

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*numerals(self.num_symbols), "/")

    @property
    def min_length(self) -> int:
        return self.min_side

    def prompt_bound(self, length: int) -> int:
        return length * (length + 1) - 1

    def target_bound(self, length: int) -> int:
        return length * (length + 1) - 1

    def sample(self, key, length, bound, data=None) -> Example:
        sides_key, symbols_key = jax.random.split(key)
        height, width = _grids.sides(sides_key, length, self.min_side)
        size = self.prompt_bound(bound)
        separator = self.num_symbols
        row, column, prompt_mask, is_cell = _grids.coordinates(size, height, width)
        symbols = jax.random.randint(symbols_key, (size,), 0, self.num_symbols)
        prompt = jnp.where(is_cell, symbols, separator)

        is_transposed = self.form == "transposed"
        target_height, target_width = (width, height) if is_transposed else (height, width)
        target_row, target_column, target_mask, is_target_cell = _grids.coordinates(
            size, target_height, target_width
        )
        source_row, source_column = target_row, target_column
        if is_transposed:
            source_row, source_column = target_column, target_row
        if self.form == "flipped":
            source_column = width - 1 - target_column
        source = source_row * (width + 1) + source_column
        source = jnp.where(is_target_cell, source, -1)
        prompt_labels = _grids.grid_labels(row, column, is_cell)
        target_labels = _grids.grid_labels(target_row, target_column, is_target_cell)
        return rearranged(
            prompt,
            prompt_mask,
            source,
            target_mask,
            separator=separator,
            structure={"grid": (prompt_labels, target_labels)},
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return _grids.longer_side(prompt, self.num_symbols)
