"""A study can declare tables by their rows and columns."""

import pytest

from pe_lab.runs.errors import UserError
from tests.results.declared import made
from tests.results.fake_study import point, record, write_study


@pytest.fixture
def grid(tmp_path):
    """Two tasks, two schemes, two encodings, one seed: exact match at length 8 is 0.1 × its place
    in the list, half of it at offset 5.
    """
    entries = []
    for i, (task, scheme, encoding) in enumerate(
        (t, p, e) for t in ("copy", "sort") for p in ("plain", "shifted") for e in ("rope", "nope")
    ):
        value = (i + 1) / 10
        validation = {4: 1.0} if encoding == "rope" else {4: 0.2}
        run = record(
            f"r{i}",
            test={(4, 0): 1.0, (8, 0): value, (8, 5): value / 2},
            validation=validation,
            reveals=scheme == "shifted",
            task=task,
        )
        entries.append((point(encoding, 0, task=task, positions=scheme), run))
    return write_study(tmp_path, *entries)


def test_scheme_by_encoding_one_table_a_task(grid):
    """Signs stand in the cell: † reveals the length, * is not solved."""
    asked = dict(
        rows="model.encodings",
        columns="positions",
        each="task",
        metric=dict(name="exact_match", at=2),
    )
    assert made(grid, **asked) == {
        "Exact match at 2× the training length by encodings and positions, copy": [
            ["encodings", "plain", "shifted"],
            ["rope", "0.10", "0.30†"],
            ["nope", "0.20*", "0.40†*"],
        ],
        "Exact match at 2× the training length by encodings and positions, sort": [
            ["encodings", "plain", "shifted"],
            ["rope", "0.50", "0.70†"],
            ["nope", "0.60*", "0.80†*"],
        ],
    }


def test_length_by_offset(grid):
    asked = dict(
        title="T",
        rows="model.encodings",
        columns=("length", "offset"),
        only=dict(task="copy", positions="plain"),
    )
    assert made(grid, **asked) == {
        "T": [
            ["encodings", "4, +0", "→8, +0", "→8, +5"],  # nobody was tested at 4, +5
            ["rope", "1.00", "0.10", "0.05"],
            ["nope", "1.00*", "0.20*", "0.10*"],
        ]
    }


def test_one_table_an_offset(grid):
    asked = dict(
        title="T", columns="length", each="offset", only=dict(task="copy", positions="plain")
    )
    assert list(made(grid, **asked)) == ["T, positions shifted by 0", "T, positions shifted by 5"]
    assert made(grid, **asked)["T, positions shifted by 5"][1:] == [
        ["rope · copy · plain", "0.05"],
        ["nope · copy · plain", "0.10*"],
    ]


def test_the_offset_of_a_metric_holds_at_each_length_and_the_heading_says_so(grid):
    asked = dict(title="T", only={"task": "copy", "positions": "plain", "model.encodings": "rope"})
    at_five = dict(name="exact_match", offset=5)
    assert made(grid, **asked, columns="length", metric=at_five)["T"] == [
        ["variant", "→8"],
        ["rope · copy · plain", "0.05"],
    ]
    assert made(grid, **asked, rows="length", measures=(at_five,))["T"] == [
        ["length", "exact match positions shifted by 5"],
        ["4", "–"],
        ["8", "0.05"],
    ]


def test_what_no_seed_solved_has_a_star_in_tables_of_variants_too_unless_a_column_counts(grid):
    only = dict(task="copy", positions="plain")
    assert made(grid, title="T", columns=("length", "offset"), only=only)["T"][2] == [
        "nope · copy · plain",
        "1.00*",
        "0.20*",
        "0.10*",
    ]
    at = dict(name="exact_match", at=2)
    assert made(grid, title="T", measures=(at,), only=only)["T"][2][1:] == ["0.20*"]
    assert made(grid, title="T", measures=(at, "solved"), only=only)["T"][2][1:] == [
        "0.20",
        "0/1 not solved",
    ]


def test_what_is_told_the_length_has_its_sign_once_behind_the_name_of_its_row(grid):
    asked = dict(title="T", only={"task": "copy", "model.encodings": "rope"}, columns="length")
    assert made(grid, **asked)["T"][1:] == [
        ["rope · copy · plain", "1.00", "0.10"],
        ["rope · copy · shifted †", "1.00", "0.30"],
    ]
    assert made(grid, title="T", rows="positions", measures=("retention",), only=asked["only"])[
        "T"
    ][2] == ["shifted †", "0.30"]


def test_measures_are_read_at_the_length_and_offset_of_their_row(grid):
    only = {"task": "copy", "positions": "plain", "model.encodings": "rope"}
    assert made(grid, title="T", rows=("length", "offset"), measures=("exact_match",), only=only)[
        "T"
    ][1:] == [
        ["4 · 0", "1.00"],
        ["4 · 5", "–"],
        ["8 · 0", "0.10"],
        ["8 · 5", "0.05"],
    ]


def test_rows_of_tasks_and_columns_of_encodings(grid):
    asked = dict(
        title="T",
        rows="task",
        columns="model.encodings",
        metric=dict(name="exact_match", length=8),
        only=dict(positions="plain"),
    )
    assert made(grid, **asked) == {
        "T": [["task", "rope", "nope"], ["copy", "0.10", "0.20*"], ["sort", "0.50", "0.60*"]]
    }


def test_tasks_that_no_dimension_names_are_pooled_and_other_axes_are_not(grid):
    asked = dict(
        title="T",
        rows="model.encodings",
        columns="positions",
        metric=dict(name="exact_match", length=8),
    )
    assert made(grid, **asked)["T"][1] == ["rope", "0.30", "0.50†"]
    with pytest.raises(
        UserError,
        match=r"the table of T leaves several variants in one cell: "
        r"name 'positions' too, among rows",
    ):
        made(grid, title="T", rows="model.encodings", columns="length", only=dict(task="copy"))


def test_measures_stand_in_columns_with_their_headings(grid):
    measures = (
        "extrapolates",
        "solved",
        "L90",
        dict(name="exact_match", lengths=(4, 8), label="mean to 8"),
        dict(name="exact_match", at=2, show="seeds"),
    )
    assert made(
        grid,
        title="T",
        rows="model.encodings",
        measures=measures,
        only=dict(task="copy", positions="plain"),
    )["T"] == [
        [
            "encodings",
            "seeds that extrapolate",
            "solved",
            "L90",
            "mean to 8",
            "exact match at 2× the training length, every seed",
        ],
        ["rope", "0/1 [0.00, 0.79]", "1/1", "4", "0.55", "0.10"],
        ["nope", "0/1 [0.00, 0.79]", "0/1 not solved", "4", "0.60", "0.20"],
    ]


def test_extrapolation_counts_of_several_tasks_are_added_up_without_an_interval(grid):
    asked = dict(title="T", rows="model.encodings", columns="positions", metric="extrapolates")
    assert [row[1] for row in made(grid, **asked)["T"][1:]] == ["0/2", "0/2*"]
