"""Copy a page: a text, a grid of symbols and a text. The grid may be transposed or flipped.

    a b 0 1 2 / 3 4 5 / c -> a b 0 1 2 / 3 4 5 / c
    a b 0 1 2 / 3 4 5 / c -> a b 0 3 / 1 4 / 2 5 / c  # form="transposed"
    a b 0 1 2 / 3 4 5 / c -> a b 2 1 0 / 5 4 3 / c  # form="flipped"

A page is to `multimodal` positions what a text with an image is: letters are a text, and the cells
with the / at the ends of their rows are an image. The length is the longer side of the grid and the
number of letters, before and after it together. All grids with this longer side and all numbers of
letters before them are equally likely.

No paper: `copy_grid` inside of a text, for schemes and encodings of text with images.
"""

import string
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks import _grids
from pe_lab.tasks._strings import check_num_symbols, rearranged
from pe_lab.tasks.base import Bools, Example, Ints, Scalar, Task, Vocabulary, numerals


@dataclass(frozen=True)
class CopyPage(Task):
    """The target is the page, with the grid in the given form.

    Args:
      form: of the grid: "copied"; "transposed": rows become columns; "flipped": each row is
        reversed.
      num_symbols: the number of uniform symbols of the cells, and of letters of the text.
      min_side: the smallest number of rows and columns.
    """

    form: Literal["copied", "transposed", "flipped"] = "copied"
    num_symbols: int = 10
    min_side: int = 2

    length_name = "cells a side"

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)
        if self.num_symbols > len(string.ascii_lowercase):
            raise ValueError(
                f"CopyPage has {len(string.ascii_lowercase)} letters for its text, so num_symbols "
                f"is at most that, got {self.num_symbols}."
            )
        if self.min_side < 1:
            raise ValueError(f"CopyPage's min_side must be at least 1, got {self.min_side}.")

    @property
    def vocabulary(self) -> Vocabulary:
        letters = string.ascii_lowercase[: self.num_symbols]
        return Vocabulary.of(*numerals(self.num_symbols), *letters, "/")

    @property
    def min_length(self) -> int:
        return self.min_side

    def prompt_bound(self, length: int) -> int:
        return length * (length + 1) + length

    def target_bound(self, length: int) -> int:
        return self.prompt_bound(length)

    def sample(self, key, length, bound, data=None) -> Example:
        sides_key, before_key, cells_key, letters_key = jax.random.split(key, 4)
        height, width = _grids.sides(sides_key, length, self.min_side)
        before = jax.random.randint(before_key, (), 0, length + 1)  # letters before the grid
        size = self.prompt_bound(bound)
        end_of_row = 2 * self.num_symbols
        page = _page(size, length, before, height, width)
        cells = jax.random.randint(cells_key, (size,), 0, self.num_symbols)
        letters = jax.random.randint(letters_key, (size,), self.num_symbols, end_of_row)
        prompt = jnp.where(page.is_cell, cells, jnp.where(page.is_end, end_of_row, letters))

        is_transposed = self.form == "transposed"
        sides = (width, height) if is_transposed else (height, width)
        target = _page(size, length, before, *sides)
        row, column = target.row, target.column
        if is_transposed:
            row, column = column, row
        if self.form == "flipped":
            column = width - 1 - column
        of_cell = before + row * (width + 1) + column
        # A transposed grid has another number of row ends, which moves the letters after it.
        longer = height * (width + 1) - sides[0] * (sides[1] + 1)
        index = jnp.arange(size)
        of_letter = jnp.where(index < before, index, index + longer)
        source = jnp.where(target.is_cell, of_cell, of_letter)
        source = jnp.where(target.is_end, -1, source)
        return rearranged(
            prompt,
            page.mask,
            source,
            target.mask,
            separator=end_of_row,
            structure={"grid": (page.labels, target.labels)},
        )

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """Return what the structure reveals: the alignment of cells shows where rows end.

        The alignment of a transposed page does so only if the whole target is seen at once.
        """
        is_seen = self.form == "flipped" or (self.form == "transposed" and not causal)
        return "answer" if structure == "coupled" and is_seen else None

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        is_letter = (prompt >= self.num_symbols) & (prompt < 2 * self.num_symbols)
        return int(is_letter.sum())


@dataclass(frozen=True)
class _Page:
    """The tokens of a page: what each one is.

    Attributes:
      mask: True at tokens.
      row, column: from 0, in the grid.
      is_cell: a cell of the grid.
      is_end: the end of a row.
    """

    mask: Bools
    row: Ints
    column: Ints
    is_cell: Bools
    is_end: Bools

    @property
    def labels(self) -> Int[Array, "n 2"]:
        """Labels of structure["grid"]: the end of a row is one more column."""
        return _grids.grid_labels(self.row, self.column, self.is_cell | self.is_end)


def _page(size: int, length: Scalar, before: Scalar, height: Scalar, width: Scalar) -> _Page:
    """The first `size` tokens of a page with `length` letters, `before` of them before the grid."""
    index = jnp.arange(size) - before
    row = index // (width + 1)
    column = index % (width + 1)
    size_of_grid = height * (width + 1)
    in_grid = (index >= 0) & (index < size_of_grid)
    is_end = in_grid & (column == width)
    return _Page(
        mask=jnp.arange(size) < length + size_of_grid,
        row=row,
        column=column,
        is_cell=in_grid & ~is_end,
        is_end=is_end,
    )
