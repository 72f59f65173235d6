"""Shared parts of the tasks on grids, which are written row by row with a separator symbol."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks.base import Bools, Ints, RandomKey, Scalar


def sides(key: RandomKey, longer: Scalar, shortest: Scalar | int) -> tuple[Scalar, Scalar]:
    """Draw the height and width of a grid with a given longer side, all such grids equally likely.

    This is the distribution of independent uniform sides with that maximum.
    """
    num_choices = longer - shortest + 1  # of the other side
    num_grids = 2 * num_choices - 1  # a square is one grid, not two
    choice = jax.random.randint(key, (), 0, num_grids)
    is_tall = choice < num_choices
    extra = jnp.where(is_tall, choice, choice - num_choices)
    other = shortest + extra
    height = jnp.where(is_tall, longer, other)
    width = jnp.where(is_tall, other, longer)
    return height, width


def coordinates(size: int, height: Scalar, width: Scalar) -> tuple[Ints, Ints, Bools, Bools]:
    """Return four arrays for the first `size` tokens of a grid with separators between rows.

    Returns:
      The row and the column from 0, whether the token belongs to the grid, and whether it is a
      cell.
    """
    index = jnp.arange(size)
    row_size = width + 1  # with the separator
    row = index // row_size
    column = index % row_size
    size_of_grid = height * row_size - 1  # no separator after the last row
    inside = index < size_of_grid
    is_cell = inside & (column < width)
    return row, column, inside, is_cell


def grid_labels(row: Ints, column: Ints, is_cell: Bools) -> Int[Array, "n 2"]:
    """Return the labels of structure["grid"]: row and column from 1, and 0 outside of cells."""
    labels = jnp.stack([row, column], axis=-1)
    labels = labels + 1
    return jnp.where(is_cell[:, None], labels, 0)


def rows(prompt: np.ndarray, separator: int) -> list[list[int]]:
    """Return the rows of a written grid."""
    result: list[list[int]] = [[]]
    for symbol in prompt.tolist():
        if symbol == separator:
            result.append([])
        else:
            last_row = result[-1]
            last_row.append(symbol)
    return result


def longer_side(prompt: np.ndarray, separator: int) -> int:
    """Return the longer side of a written grid."""
    grid = rows(prompt, separator)
    return max(len(grid), len(grid[0]))
