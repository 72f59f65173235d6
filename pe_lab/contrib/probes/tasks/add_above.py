"""Add to each cell of a grid the cell above it.

    1 2 / 3 9 -> 1 2 / 4 1
    7 / 5 / 6 -> 7 / 2 / 1  # min_side=1

Sums are modulo the number of symbols, and the first row stays as it is. The neighbor is one step
away on the second axis. In the string of all rows it is as many tokens away as a row has, which
differs between grids.

No paper: `copy_grid` with a neighbor on the second axis, as a patch of an image has one.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks import _grids
from pe_lab.tasks._strings import check_num_symbols
from pe_lab.tasks.base import Example, Task, Vocabulary, make_example, numerals


@dataclass(frozen=True)
class AddAbove(Task):
    """The target is a grid of sums, written like the prompt with / between rows.

    The length is the longer side; all grids with this longer side are equally likely.

    Args:
      num_symbols: the number of uniform symbols of the cells, and the modulus of the sums.
      min_side: the smallest number of rows and columns.
    """

    num_symbols: int = 10
    min_side: int = 2

    length_name = "cells a side"

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)
        if self.min_side < 1:
            raise ValueError(f"AddAbove's min_side must be at least 1, got {self.min_side}.")

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
        row, column, mask, is_cell = _grids.coordinates(size, height, width)
        symbols = jax.random.randint(symbols_key, (size,), 0, self.num_symbols)
        row_size = width + 1  # with the separator
        # Clipped: in the first row this is any symbol, which the sums leave out.
        above = jnp.take(symbols, jnp.arange(size) - row_size, mode="clip")
        sums = (symbols + jnp.where(row > 0, above, 0)) % self.num_symbols
        separator = self.num_symbols
        labels = _grids.grid_labels(row, column, is_cell)
        return make_example(
            jnp.where(is_cell, symbols, separator),
            mask,
            jnp.where(is_cell, sums, separator),
            mask,
            structure={"grid": (labels, labels)},
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return _grids.longer_side(prompt, self.num_symbols)
