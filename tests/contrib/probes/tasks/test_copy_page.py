import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.probes.tasks.copy_page import CopyPage
from pe_lab.positions.multimodal import Multimodal
from tests.tasks.drawing import drawn, said

VARIANTS = [
    {},
    {"form": "transposed"},
    {"form": "flipped"},
    {"form": "transposed", "num_symbols": 2, "min_side": 1},
]
CHANCE_LEVELS = [
    (dict(num_symbols=2, min_side=1), 1, "exact_match", 1 / 8, 1),
]
REFUSALS = [
    (dict(num_symbols=1), "two symbols or more, got num_symbols=1"),
    (dict(num_symbols=27), "26 letters for its text, so num_symbols is at most that, got 27"),
    (dict(min_side=0), "min_side must be at least 1, got 0"),
]


def oracle(task, prompt):
    """The page is cut at its first cell and after its last /, and its rows are turned."""
    n = task.num_symbols
    symbols = prompt.tolist()
    letters = [n <= symbol < 2 * n for symbol in symbols]
    first, last = letters.index(False), len(letters) - letters[::-1].index(False)
    rows = [[]]
    for symbol in symbols[first:last]:
        if symbol == 2 * n:
            rows.append([])
        else:
            rows[-1].append(symbol)
    rows = rows[:-1]
    if task.form == "transposed":
        rows = [list(column) for column in zip(*rows, strict=True)]
    if task.form == "flipped":
        rows = [row[::-1] for row in rows]
    grid = [symbol for row in rows for symbol in (*row, 2 * n)]
    return np.array([*symbols[:first], *grid, *symbols[last:]])


@pytest.mark.parametrize(
    ("form", "target"),
    [
        ("copied", "a b 0 1 2 / 3 4 5 / c"),
        ("transposed", "a b 0 3 / 1 4 / 2 5 / c"),
        ("flipped", "a b 2 1 0 / 5 4 3 / c"),
    ],
)
def test_a_page_by_hand(form, target):
    assert said(CopyPage(form), "a b 0 1 2 / 3 4 5 / c") == target


def a_page():
    """A drawn page of three letters, two before the grid, which has two rows and three columns."""
    task = CopyPage("transposed")
    e = drawn(task, 3, 60)
    number = e.prompt_mask.sum(axis=1)
    ends = (e.prompt == 20).sum(axis=1)
    is_cell_third = e.prompt[:, 2] < 10
    is_letter_second = (e.prompt[:, 1] >= 10) & (e.prompt[:, 1] < 20)
    (fits, *_) = np.flatnonzero((number == 11) & (ends == 2) & is_cell_third & is_letter_second)
    return jax.tree.map(lambda leaf: leaf[fits], e)


@pytest.mark.slow
def test_alignment_structure_and_positions_by_hand():
    """Tokens 0 1 | 2 3 4 / 6 7 8 / | 10; the target is 0 1 | 2 6 / 3 7 / 4 8 / | 10."""
    e = a_page()
    assert e.alignment[e.target_mask].tolist() == [0, 1, 2, 6, -1, 3, 7, -1, 4, 8, -1, 10]
    prompt, target = e.structure["grid"]
    two_by_four = [[row, column] for row in (1, 2) for column in (1, 2, 3, 4)]
    three_by_three = [[row, column] for row in (1, 2, 3) for column in (1, 2, 3)]
    text = [0, 0]
    assert prompt[e.prompt_mask].tolist() == [text, text, *two_by_four, text]
    assert target[e.target_mask].tolist() == [text, text, *three_by_three, text]
    positions = Multimodal()(
        jax.random.split(jax.random.key(0), 1),
        jnp.ones((1, 11), bool),
        structure={"grid": jnp.asarray(prompt[e.prompt_mask])[None]},
        train=False,
    )
    times = positions[0, 0, :, 0].tolist()
    assert times == [0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 6]


@pytest.mark.slow
def test_letters_before_the_grid_are_uniform():
    """0 to 3 letters, 300 of 1200 each, five standard deviations are 75."""
    e = drawn(CopyPage(), 3, 1200)
    is_cell = e.prompt < 10
    before = is_cell.argmax(axis=1)
    counts = np.bincount(before, minlength=4)
    assert len(counts) == 4
    assert abs(counts - 300).max() < 75


def test_lengths():
    task = CopyPage()
    assert (task.min_length, task.max_length) == (2, None)
    assert (task.prompt_bound(3), task.target_bound(3)) == (15, 15)
