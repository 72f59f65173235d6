import jax
import numpy as np
import pytest

from pe_lab.contrib.probes.tasks.copy_grid import CopyGrid
from pe_lab.tasks import _grids
from tests.tasks.drawing import drawn, symbols

VARIANTS = [
    {},
    {"form": "transposed"},
    {"form": "flipped"},
    {"form": "transposed", "num_symbols": 2, "min_side": 1},
]
CHANCE_LEVELS = [
    (dict(num_symbols=2, min_side=1), 1, "exact_match", 1 / 2, 1),
]
REFUSALS = [
    (dict(num_symbols=1), "two symbols or more, got num_symbols=1"),
    (dict(min_side=0), "min_side must be at least 1, got 0"),
]


def oracle(task, prompt):
    rows = _grids.rows(prompt, task.num_symbols)
    if task.form == "transposed":
        rows = [list(column) for column in zip(*rows, strict=True)]
    if task.form == "flipped":
        rows = [row[::-1] for row in rows]
    symbols = [symbol for row in rows for symbol in (*row, task.num_symbols)]
    return np.array(symbols[:-1])


def written(task, length, signs, width):
    """A drawn example whose rows are of this width and have this many signs between them."""
    e = drawn(task, length, 40)
    fits = ((e.prompt == task.num_symbols).sum(axis=1) == signs) & (
        e.prompt_mask.sum(axis=1) == (signs + 1) * (width + 1) - 1
    )
    return jax.tree.map(lambda leaf: leaf[np.flatnonzero(fits)[0]], e)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("copied", "1 2 3 / 4 5 6 / 7 8 9"),
        ("transposed", "1 4 7 / 2 5 8 / 3 6 9"),
        ("flipped", "3 2 1 / 6 5 4 / 9 8 7"),
    ],
)
def test_a_square_by_hand(form, said):
    task = CopyGrid(form)
    prompt = np.array(symbols(task.vocabulary, "1 2 3 / 4 5 6 / 7 8 9"))
    assert task.vocabulary.text(oracle(task, prompt).tolist()) == said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "from_where"),
    [
        ("copied", [0, 1, 2, -1, 4, 5, 6]),
        ("transposed", [0, 4, -1, 1, 5, -1, 2, 6]),
        ("flipped", [2, 1, 0, -1, 6, 5, 4]),
    ],
)
def test_alignment_and_structure_by_hand(form, from_where):
    """Two rows of three: tokens 0 1 2 / 4 5 6."""
    e = written(CopyGrid(form), 3, signs=1, width=3)
    assert e.alignment[e.target_mask].tolist() == from_where
    assert (e.alignment[~e.target_mask] == -1).all()
    two_by_three = [[1, 1], [1, 2], [1, 3], [0, 0], [2, 1], [2, 2], [2, 3]]
    three_by_two = [[1, 1], [1, 2], [0, 0], [2, 1], [2, 2], [0, 0], [3, 1], [3, 2]]
    prompt, target = e.structure["grid"]
    assert prompt[e.prompt_mask].tolist() == two_by_three
    assert target[e.target_mask].tolist() == (
        three_by_two if form == "transposed" else two_by_three
    )
    assert (prompt[~e.prompt_mask] == 0).all()
    assert (target[~e.target_mask] == 0).all()


@pytest.mark.slow
def test_cells_are_uniform_and_grids_equally_likely():
    """Sides of 2 and 3, 1200 draws: 400 of each of three grids; 8000 cells: 0.25 of each symbol.

    Bounds are five standard deviations, which is 82 for the grids.
    """
    task = CopyGrid(num_symbols=4)
    e = drawn(task, 3, 1200)
    _, counts = np.unique(
        np.stack([(e.prompt == 4).sum(axis=1), e.prompt_mask.sum(axis=1)]),
        axis=1,
        return_counts=True,
    )
    assert len(counts) == 3
    assert abs(counts - 400).max() < 82
    symbols = e.prompt[e.prompt_mask & (e.prompt != 4)]
    assert (
        abs(np.bincount(symbols) / len(symbols) - 0.25).max()
        < 5 * (0.25 * 0.75 / len(symbols)) ** 0.5
    )


def test_lengths():
    task = CopyGrid()
    assert (task.min_length, task.max_length, task.prompt_bound(3), task.target_bound(3)) == (
        2,
        None,
        11,
        11,
    )
