"""Boards written row after row: what the tasks on grids share."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

Traced = Int[Array, ""]


def sides(key: Key[Array, ""], longer: Traced, shortest: Traced | int) -> tuple[Traced, Traced]:
    """Height and width of a board whose longer side is given, each such board equally likely.

    That is what independent uniform sides are once their larger one is known.
    """
    choices = longer - shortest + 1  # of the other side
    drawn = jax.random.randint(key, (), 0, 2 * choices - 1)  # the square once
    other = shortest + jnp.where(drawn < choices, drawn, drawn - choices)
    return jnp.where(drawn < choices, longer, other), jnp.where(drawn < choices, other, longer)


def places(
    size: int, height: Traced, width: Traced
) -> tuple[Int[Array, "n"], Int[Array, "n"], Bool[Array, "n"], Bool[Array, "n"]]:
    """Row and column from 0 of `size` places of a board with a sign between its rows; which are in
    it, which are cells.
    """
    place = jnp.arange(size)
    row, column = place // (width + 1), place % (width + 1)
    inside = place < height * (width + 1) - 1
    return row, column, inside, inside & (column < width)


def positions(
    row: Int[Array, "n"], column: Int[Array, "n"], is_cell: Bool[Array, "n"]
) -> Int[Array, "n 2"]:
    """What structure["grid"] says of places."""
    return jnp.where(is_cell[:, None], jnp.stack([row, column], axis=-1) + 1, 0)


def rows(prompt: np.ndarray, sign: int) -> list[list[int]]:
    """The rows of a written board."""
    found: list[list[int]] = [[]]
    for symbol in prompt.tolist():
        if symbol == sign:
            found.append([])
        else:
            found[-1].append(symbol)
    return found
