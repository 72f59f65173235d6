import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.minesweeper import _MINE, _SEPARATOR, _ZERO, Minesweeper
from pe_lab.positions.grid import Grid
from pe_lab.tasks import _grids
from pe_lab.tasks.chance_levels import chance_levels
from pe_lab.tasks.layouts import Decoder
from tests.tasks.drawing import drawn, symbols

VARIANTS = [{}, {"min_side": 1}, {"min_ratio": 0.5, "max_ratio": 0.5}]


def oracle(task, prompt):
    board = _grids.rows(prompt, _SEPARATOR)
    height, width = len(board), len(board[0])
    target = []
    for row in range(height):
        for column in range(width):
            neighbors = [
                symbol
                for line in board[max(row - 1, 0) : row + 2]
                for symbol in line[max(column - 1, 0) : column + 2]
            ]
            is_mine = board[row][column] == _MINE
            target.append(_MINE if is_mine else _ZERO + neighbors.count(_MINE))
    return np.array(target)


def sides_of(examples):
    """Height and width of each, from its signs and its fields."""
    signs = (examples.prompt == 2).sum(axis=1)
    return signs + 1, examples.target_mask.sum(axis=1) // (signs + 1)


def test_a_board_by_hand():
    """Every count there is: eight mines around one field, none around another."""
    task = Minesweeper()
    prompt = symbols(task.vocabulary, "M M M E E / M E M E E / M M M E E")
    assert (
        task.target_vocabulary.text(oracle(task, np.array(prompt)).tolist())
        == "M M M 2 0 M 8 M 3 0 M M M 2 0"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("min_side", "length", "boards"), [(5, 5, 1), (5, 7, 5), (1, 3, 5)])
def test_boards_with_a_longer_side_are_equally_likely(min_side, length, boards):
    """1000 draws over 2 (n - min) + 1 boards; five standard deviations of a fifth are 63."""
    height, width = sides_of(drawn(Minesweeper(min_side), length, 1000))
    assert (np.maximum(height, width) == length).all()
    assert min(height.min(), width.min()) == min_side
    _, counts = np.unique(np.stack([height, width]), axis=1, return_counts=True)
    assert len(counts) == boards
    assert abs(counts - 1000 / boards).max() <= 63


@pytest.mark.slow
def test_each_board_has_a_ratio_of_its_own_uniform_between_the_two():
    """The mean ratio of mines among 144 fields is 0.175.

    The ratios have the spread of a uniform one, 0.043, in addition to a board's noise of 0.03.
    """
    e = drawn(Minesweeper(12), 12, 2000)
    ratio = (e.target == 0).sum(axis=1, where=e.target_mask) / 144
    assert abs(ratio.mean() - 0.175) < 5 * 0.054 / 2000**0.5
    expected = 0.15**2 / 12 + (0.175 * 0.825 - 0.15**2 / 12) / 144
    assert abs(ratio.var() / expected - 1) < 0.15  # a variance of 2000 numbers is off by 3%
    assert (abs(ratio - 0.175) > 0.075).mean() > 0.05  # 0.175 on every board gives 0.02


@pytest.mark.slow
def test_mines_stand_in_every_field_alike():
    """Their frequency in 25 fields of 2000 boards: standard deviation 0.0085."""
    e = drawn(Minesweeper(5), 5, 2000, seed=3)
    assert abs((e.target == 0).mean(axis=0) - 0.175).max() < 0.0425


@pytest.mark.slow
def test_structure_and_alignment_by_hand():
    """A board of two rows and one of two columns, as far as they are written."""
    e = drawn(Minesweeper(1), 2, 20)
    height, width = sides_of(e)
    i, j = (np.flatnonzero((height == h) & (width == w))[0] for h, w in ((2, 2), (2, 1)))
    coupled, grid = e.structure["coupled"], e.structure["grid"]
    assert (coupled[0][i].tolist(), coupled[1][i].tolist()) == ([1, 2, 0, 3, 4], [1, 2, 3, 4])
    assert grid[0][i].tolist() == [[1, 1], [1, 2], [0, 0], [2, 1], [2, 2]]
    assert grid[1][i].tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]
    assert (coupled[0][j].tolist(), coupled[1][j].tolist()) == ([1, 0, 2, 0, 0], [1, 2, 0, 0])
    assert grid[0][j].tolist() == [[1, 1], [0, 0], [2, 1], [0, 0], [0, 0]]
    assert grid[1][j].tolist() == [[1, 1], [2, 1], [0, 0], [0, 0]]
    for row in (i, j):
        mines = np.flatnonzero((e.target[row] == 0) & e.target_mask[row])
        assert e.alignment[row][mines].tolist() == [f + f // width[row] for f in mines]
        assert (np.delete(e.alignment[row], mines) == -1).all()


@pytest.mark.full
def test_the_scheme_grid_gives_the_ids_of_the_paper():
    """Less one: there the separator is at 1 and the first field at (2, 2)."""
    task, layout = Minesweeper(2), Decoder(end_token=True)
    batch = layout(task, task.sample(jax.random.key(0), jnp.asarray(2), 2))
    structure = {name: value[None] for name, value in batch.structure.items()}
    positions = Grid()(
        jax.random.split(jax.random.key(0), 1), batch.mask[None], structure=structure, train=False
    )[0, 0]
    prompt = [[1, 1], [1, 2], [0, 0], [2, 1], [2, 2]]
    assert positions.tolist() == [[0, 0], *prompt, [0, 0], [1, 1], [1, 2], [2, 1], [2, 2]]


@pytest.mark.slow
def test_the_floor_is_the_most_frequent_count():
    """An inner field is a mine with probability p, else it has k mines of eight, binomially."""
    chance_level = chance_levels(Minesweeper(min_ratio=0.25, max_ratio=0.25), (9,), 1000)[0]
    assert chance_level["exact_match"] == 0
    assert (
        0.25 < chance_level["token_accuracy"] < 0.30
    )  # inside: 0.25 are mines, 0.23 have two; at the edge more have one


def test_lengths():
    task = Minesweeper()
    assert (task.min_length, task.max_length, task.prompt_bound(9), task.target_bound(9)) == (
        5,
        None,
        89,
        81,
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"min_side": 0}, "min_side must be at least 1, got 0"),
        ({"min_ratio": 0.4}, "ratios must ascend within 0 and 1, got 0.4 and 0.25"),
        ({"max_ratio": 1.5}, "ratios must ascend within 0 and 1, got 0.1 and 1.5"),
    ],
)
def test_what_it_refuses(arguments, why):
    with pytest.raises(ValueError, match=why):
        Minesweeper(**arguments)
