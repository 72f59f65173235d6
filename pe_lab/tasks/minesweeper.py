"""Count the mines around each field of a board.

    M E / E E -> M 1 1 1
    M E E / E E M -> M 2 1 1 2 M

Mines (M) and empty fields (E) stand row after row; the target says of each field how many of its up
to eight neighbours are mines, or that it is one. A length is the longer side. Boards have 5 rows
and columns or more; all with this longer side are equally likely, which is what the paper's
independent uniform sides are once it is known. Each board has a ratio of mines of its own.

Papers: Cho et al. 2024 (https://arxiv.org/abs/2405.20671): "minesweeper generator", sides 5..9 in
training, up to 12 in the test; its two ids a field are the scheme `grid`, with max_position=21.

Differs: the authors' code (HanseulJo/position-coupling, src/data/minesweeper.py) writes no sign
between the rows of the prompt, so that 5 x 6 and 6 x 5 read alike and only positions tell the
answer; here / does. Training draws the longer side uniformly, there both sides are.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from pe_lab.tasks import _grids
from pe_lab.tasks.base import Example, Task, Vocabulary

_MINE, _EMPTY, _SIGN, _ZERO = range(4)


@dataclass(frozen=True)
class Minesweeper(Task):
    """The target has one symbol for each field, row after row, without signs: M, or 0 to 8.

    Args:
      min_side: the fewest rows and columns.
      min_ratio: each field is a mine with a probability that is uniform between this, for each
        board,
      max_ratio: and this.
    """

    min_side: int = 5
    min_ratio: float = 0.1
    max_ratio: float = 0.25

    length_name = "fields a side"

    def __post_init__(self):
        if self.min_side < 1:
            raise ValueError(f"minesweeper's min_side must be at least 1, got {self.min_side}.")
        if not 0 <= self.min_ratio <= self.max_ratio <= 1:
            raise ValueError(
                f"minesweeper's ratios must ascend within 0 and 1, got {self.min_ratio} and "
                f"{self.max_ratio}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(3, ("M", "E", "/"))

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(12, ("M", "E", "/", *map(str, range(9))))

    @property
    def min_length(self) -> int:
        return self.min_side

    def prompt_bound(self, length: int) -> int:
        return length * (length + 1) - 1

    def target_bound(self, length: int) -> int:
        return length * length

    def sample(self, key, length, bound, data=None) -> Example:
        of_sides, of_ratio, of_mines = jax.random.split(key, 3)
        height, width = _grids.sides(of_sides, length, self.min_side)
        ratio = jax.random.uniform(of_ratio, (), minval=self.min_ratio, maxval=self.max_ratio)
        cell = jnp.arange(bound * bound)
        mask = cell < height * width
        mines = mask & (jax.random.uniform(of_mines, cell.shape) < ratio)
        target = jnp.where(mines, _MINE, jnp.where(mask, _ZERO + _around(mines, width), 0))

        row, column, written, is_cell = _grids.places(self.prompt_bound(bound), height, width)
        index = row * width + column
        symbols = jnp.where(jnp.take(mines, index, mode="clip"), _MINE, _EMPTY)
        prompt = jnp.where(is_cell, symbols, jnp.where(written, _SIGN, 0))
        alignment = jnp.where(
            mines, cell + cell // width, -1
        )  # a sign stands before each row but the first
        structure = {
            "coupled": (jnp.where(is_cell, index + 1, 0), jnp.where(mask, cell + 1, 0)),
            "grid": (
                _grids.positions(row, column, is_cell),
                _grids.positions(cell // width, cell % width, mask),
            ),
        }
        return Example(prompt, written, target, mask, mask, alignment, structure=structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return max(len(board := _grids.rows(prompt, _SIGN)), len(board[0]))

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        board = _grids.rows(prompt, _SIGN)
        mines = {
            (r, c) for r, row in enumerate(board) for c, symbol in enumerate(row) if symbol == _MINE
        }
        steps = [(dr, dc) for dr in (-1, 0, 1) for dc in (-1, 0, 1)]
        count = {
            (r, c): sum((r + dr, c + dc) in mines for dr, dc in steps)
            for r, row in enumerate(board)
            for c in range(len(row))
        }
        return np.array([_MINE if field in mines else _ZERO + n for field, n in count.items()])


def _around(mines: Bool[Array, "n"], width: Int[Array, ""]) -> Int[Array, "n"]:
    """Mines among the neighbours of each cell of a board without signs; nothing stands behind its
    end.
    """
    size = len(mines)
    column, one = jnp.arange(size) % width, mines.astype(jnp.int32)
    before, behind = jnp.pad(one, (1, 0))[:-1], jnp.pad(one, (0, 1))[1:]
    across = jnp.where(column > 0, before, 0) + one + jnp.where(column < width - 1, behind, 0)
    padded = jnp.pad(across, size)
    above, below = (
        jax.lax.dynamic_slice(padded, (size + step,), (size,)) for step in (-width, width)
    )
    return above + across + below - one
