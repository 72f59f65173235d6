"""A study can declare tables by their rows and columns."""

import itertools

import pytest

from pe_lab.runs.errors import UserError
from tests.results.fake_study import point, record
from tests.results.studies import declared_cells, study

PLAIN = {"task": "copy", "positions": "plain"}
AT_TWO = {"name": "exact_match", "at": 2}


@pytest.fixture
def grid(tmp_path):
    """Two tasks, two schemes, two encodings, one seed: exact match at length 8 is 0.1 × its place
    in the list, half of it at offset 5.
    """
    variants = itertools.product(("copy", "sort"), ("plain", "shifted"), ("rope", "nope"))
    entries = []
    for place, (task, scheme, encoding) in enumerate(variants, start=1):
        value = place / 10
        run = record(
            f"r{place}",
            test={(4, 0): 1.0, (8, 0): value, (8, 5): value / 2},
            validation={4: 1.0 if encoding == "rope" else 0.2},
            reveals=scheme == "shifted",
            task=task,
        )
        entries.append((point(encoding, 0, task=task, positions=scheme), run))
    return study(tmp_path, *entries)


def rows(grid, **table):
    """The rows of one table, the header first."""
    return declared_cells(grid, title="T", **table)["T"]


def test_scheme_by_encoding_one_table_a_task(grid):
    """Signs stand in the cell: † reveals the length, * is not solved."""
    table = dict(rows="model.encodings", columns="positions", each="task", metric=AT_TWO)
    title = "Exact match at 2× the training length by encodings and positions"
    header = ["encodings", "plain", "shifted"]
    assert declared_cells(grid, **table) == {
        f"{title}, copy": [header, ["rope", "0.10", "0.30†"], ["nope", "0.20*", "0.40†*"]],
        f"{title}, sort": [header, ["rope", "0.50", "0.70†"], ["nope", "0.60*", "0.80†*"]],
    }


def test_length_by_offset(grid):
    assert rows(grid, rows="model.encodings", columns=("length", "offset"), only=PLAIN) == [
        ["encodings", "4, +0", "→8, +0", "→8, +5"],  # nobody was tested at 4, +5
        ["rope", "1.00", "0.10", "0.05"],
        ["nope", "1.00*", "0.20*", "0.10*"],
    ]


def test_one_table_an_offset(grid):
    table = dict(title="T", columns="length", each="offset", only=PLAIN)
    plain, shifted = declared_cells(grid, **table).items()
    assert (plain[0], shifted[0]) == ("T, positions shifted by 0", "T, positions shifted by 5")
    assert shifted[1][1:] == [["rope · copy · plain", "0.05"], ["nope · copy · plain", "0.10*"]]


def test_the_offset_of_a_metric_holds_at_each_length_and_the_heading_says_so(grid):
    only = PLAIN | {"model.encodings": "rope"}
    at_five = dict(name="exact_match", offset=5)
    assert rows(grid, only=only, columns="length", metric=at_five) == [
        ["variant", "→8"],
        ["rope · copy · plain", "0.05"],
    ]
    assert rows(grid, only=only, rows="length", measures=(at_five,)) == [
        ["length", "exact match positions shifted by 5"],
        ["4", "–"],
        ["8", "0.05"],
    ]


@pytest.mark.parametrize(
    ("table", "cells"),
    [
        (dict(columns=("length", "offset")), ["1.00*", "0.20*", "0.10*"]),
        (dict(measures=(AT_TWO,)), ["0.20*"]),
        (dict(measures=(AT_TWO, "solved")), ["0.20", "0/1 not solved"]),
    ],
)
def test_what_no_seed_solved_has_a_star_unless_a_column_counts(grid, table, cells):
    assert rows(grid, only=PLAIN, **table)[2] == ["nope · copy · plain", *cells]


def test_what_is_told_the_length_has_its_sign_once_behind_the_name_of_its_row(grid):
    only = {"task": "copy", "model.encodings": "rope"}
    assert rows(grid, only=only, columns="length")[1:] == [
        ["rope · copy · plain", "1.00", "0.10"],
        ["rope · copy · shifted †", "1.00", "0.30"],
    ]
    by_scheme = rows(grid, only=only, rows="positions", measures=("retention",))
    assert by_scheme[2] == ["shifted †", "0.30"]


def test_measures_are_read_at_the_length_and_offset_of_their_row(grid):
    only = PLAIN | {"model.encodings": "rope"}
    assert rows(grid, rows=("length", "offset"), measures=("exact_match",), only=only)[1:] == [
        ["4 · 0", "1.00"],
        ["4 · 5", "–"],
        ["8 · 0", "0.10"],
        ["8 · 5", "0.05"],
    ]


def test_rows_of_tasks_and_columns_of_encodings(grid):
    metric = dict(name="exact_match", length=8)
    only = {"positions": "plain"}
    assert rows(grid, rows="task", columns="model.encodings", metric=metric, only=only) == [
        ["task", "rope", "nope"],
        ["copy", "0.10", "0.20*"],
        ["sort", "0.50", "0.60*"],
    ]


def test_tasks_that_no_dimension_names_are_pooled_and_other_axes_are_not(grid):
    by_scheme = dict(rows="model.encodings", columns="positions")
    metric = dict(name="exact_match", length=8)
    assert rows(grid, **by_scheme, metric=metric)[1] == ["rope", "0.30", "0.50†"]
    # Counts are added up, and the sum has no interval.
    counts = rows(grid, **by_scheme, metric="extrapolates")
    assert [row[1] for row in counts[1:]] == ["0/2", "0/2*"]
    several = "the table of T leaves several variants in one cell: name 'positions' too, among rows"
    with pytest.raises(UserError, match=several):
        rows(grid, rows="model.encodings", columns="length", only=dict(task="copy"))


def test_measures_stand_in_columns_with_their_headings(grid):
    measures = (
        "extrapolates",
        "solved",
        "L90",
        dict(name="exact_match", lengths=(4, 8), label="mean to 8"),
        dict(AT_TWO, show="seeds"),
    )
    every_seed = "exact match at 2× the training length, every seed"
    assert rows(grid, rows="model.encodings", measures=measures, only=PLAIN) == [
        ["encodings", "seeds that extrapolate", "solved", "L90", "mean to 8", every_seed],
        ["rope", "0/1 [0.00, 0.79]", "1/1", "4", "0.55", "0.10"],
        ["nope", "0/1 [0.00, 0.79]", "0/1 not solved", "4", "0.60", "0.20"],
    ]
