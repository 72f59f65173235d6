"""Shared parts of the tasks on grids, which are written row by row with a separator symbol."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from pe_lab.tasks.base import RandomKey, Scalar


def sides(key: RandomKey, longer: Scalar, shortest: Scalar | int) -> tuple[Scalar, Scalar]:
    """Draw the height and width of a grid with a given longer side, all such grids equally likely.

    This is the distribution of independent uniform sides with that maximum.
    """
    num_choices = longer - shortest + 1  # of the other side
    choice = jax.random.randint(key, (), 0, 2 * num_choices - 1)  # the square is one choice
    is_tall = choice < num_choices
    other = shortest + jnp.where(is_tall, choice, choice - num_choices)
    return jnp.where(is_tall, longer, other), jnp.where(is_tall, other, longer)


def coordinates(
    size: int, height: Scalar, width: Scalar
) -> tuple[Int[Array, "n"], Int[Array, "n"], Bool[Array, "n"], Bool[Array, "n"]]:
    """Return four arrays for the first `size` tokens of a grid with separators between rows.

    Returns:
      The row and the column from 0, whether the token belongs to the grid, and whether it is a
      cell.
    """
    index = jnp.arange(size)
    row, column = index // (width + 1), index % (width + 1)
    inside = index < height * (width + 1) - 1  # no separator after the last row
    return row, column, inside, inside & (column < width)


def grid_labels(
    row: Int[Array, "n"], column: Int[Array, "n"], is_cell: Bool[Array, "n"]
) -> Int[Array, "n 2"]:
    """Return the labels of structure["grid"]: row and column from 1, and 0 outside of cells."""
    return jnp.where(is_cell[:, None], jnp.stack([row, column], axis=-1) + 1, 0)


def rows(prompt: np.ndarray, separator: int) -> list[list[int]]:
    """Return the rows of a written grid."""
    result: list[list[int]] = [[]]
    for symbol in prompt.tolist():
        if symbol == separator:
            result.append([])
        else:
            result[-1].append(symbol)
    return result


def longer_side(prompt: np.ndarray, separator: int) -> int:
    """Return the longer side of a written grid."""
    grid = rows(prompt, separator)
    return max(len(grid), len(grid[0]))
