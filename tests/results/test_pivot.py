import pytest

from pe_lab.results import declared_tables, frame, selection
from pe_lab.results.read_analysis_spec import from_dict
from pe_lab.runs.errors import UserError
from tests.results import synthetic
from tests.results.fake_study import point, record, values, write_study


def made(folder, **asked):
    """The tables of a description, as title -> lists of texts, the header first."""
    found = selection.choose(frame.read(folder))
    return {
        t.title: [list(t.header), *([c.text for c in row] for row in t.rows)]
        for t in tables(found, **asked)
    }


def tables(found, **asked):
    source = {"oracle": asked.pop("oracle")} if "oracle" in asked else {}
    (description,) = from_dict({"tables": [asked], **source}).tables
    return declared_tables.tables(found, description)


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


@pytest.fixture
def moved(tmp_path):
    """Trained at length 4, whose positions end at 9 (plain) or 24 (shifted): as large as the test's
    up to length 8, or 10 at offset 5.
    """
    entries = []
    for scheme, largest in (("contiguous", 9), ("shifted", 24)):
        made = record(
            scheme, test={(n, at): 0.5 for n in (4, 8, 16) for at in (0, 5)}, validation={4: 1.0}
        )
        made["exposure"]["max_position"] = largest
        made["config"]["positions"] = {"name": scheme}
        entries.append((point("rope", 0, positions=scheme), made))
    return write_study(tmp_path, *entries)


@pytest.mark.slow
def test_the_sign_of_positions_that_training_showed_stands_at_their_place_alone(moved):
    """Not where the length was trained, not beyond the largest position, and never of what just
    counts up.
    """
    (rows,) = made(moved, rows="positions", columns=("length", "offset")).values()
    assert rows == [
        ["positions", "4, +0", "4, +5", "→8, +0", "→8, +5", "→16, +0", "→16, +5"],
        ["contiguous", *["0.50"] * 6],
        ["shifted", "0.50", "0.50", "0.50‡", "0.50‡", "0.50", "0.50"],
    ]
    (by_variant,) = made(moved, columns=("length", "offset")).values()
    assert [row[1:] for row in by_variant] == [row[1:] for row in rows]


@pytest.mark.parametrize(
    ("metric", "shown"),
    [
        ("trained_length", "0.50"),
        ("retention", "1.00‡"),
        ("extrapolates", "0/1 [0.00, 0.79]‡"),
        (dict(name="exact_match", length=16, show="seeds"), "0.50"),
        (dict(name="exact_match", lengths=(5, 8)), "0.50‡"),
        (dict(name="exact_match", lengths=(5, 99)), "0.50"),
        ("solved", "1/1"),
    ],
)
def test_a_number_of_a_run_has_the_sign_of_where_it_is_read(moved, metric, shown):
    (rows,) = made(moved, rows="positions", measures=(metric,)).values()
    assert rows[2] == ["shifted", shown]


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


def test_the_oracle_is_the_best_of_all_seeds_and_rates_and_says_so(tmp_path):
    folder = synthetic.write(
        tmp_path,
        tasks=(),
        schemes=(),
        encodings=("rope",),
        analysis={"tuned": ["train.learning_rate"], "oracle": "Paper 2023"},
    )
    found = frame.read(folder)
    best = max(v for name in found.by_name for v in values(found, name, 16) if v is not None)
    at = dict(name="exact_match", at=2)
    (table,) = tables(
        selection.choose(found), measures=(at, dict(at, show="best")), oracle="Paper 2023"
    )
    assert (table.header[2], table.rows[0][2].value) == (
        "exact match at 2× the training length, oracle: best setting and seed, by the test",
        best,
    )
    assert table.rows[0][1].value < best
    assert (
        "Oracle: chosen by the test itself, as in Paper 2023; for comparison with it alone."
        in table.notes
    )


def test_the_best_loss_is_the_lowest(tmp_path):
    folder = synthetic.write(
        tmp_path,
        tasks=(),
        schemes=(),
        rates=(),
        encodings=("rope",),
        analysis={"oracle": "Paper 2023"},
    )
    found = frame.read(folder)
    losses = [
        v for v in values(found, "rope", 16, metric="negative_log_likelihood") if v is not None
    ]
    best = dict(name="negative_log_likelihood", at=2, show="best")
    (table,) = tables(found, measures=(best,), oracle="Paper 2023")
    assert table.rows[0][1].value == min(losses) < max(losses)


def test_a_papers_metric_is_a_metric_of_a_table(tmp_path):
    """Ruoss et al.: token accuracy, mean over lengths beyond training."""
    found = frame.read(
        synthetic.write(tmp_path, tasks=(), schemes=(), rates=(), encodings=("rope",), seeds=1)
    )
    (table,) = tables(
        found,
        rows="model.encodings",
        columns=(),
        metric=dict(name="token_accuracy", lengths=(9, 32)),
    )
    assert table.rows[0][1].value == pytest.approx(
        sum(values(found, "rope", n, metric="token_accuracy")[0] for n in (12, 16, 24, 32)) / 4
    )
    assert table.title == "Token accuracy mean over lengths 9..32 by encodings"


def test_ten_seeds_have_the_interval_of_their_interquartile_mean(tmp_path):
    found = frame.read(
        synthetic.write(
            tmp_path,
            tasks=("copy", "reverse"),
            schemes=(),
            rates=(),
            encodings=("rope", "alibi"),
            seeds=10,
        )
    )
    (table,) = tables(
        found, rows="model.encodings", columns=(), metric=dict(name="exact_match", at=2, show="iqm")
    )
    assert table.header == ("encodings", "all")
    for row in table.rows:
        low, high = row[1].text.partition("[")[2].rstrip("]").split(", ")
        assert float(low) <= row[1].value <= float(high)
    assert any(
        "BCa bootstrap of the interquartile mean for 10 seeds (with 10 seeds they contain the true"
        in note
        for note in table.notes
    )


def test_numbers_stand_in_their_own_order_and_an_axis_into_an_encoding_has_its_end_as_name(
    tmp_path,
):
    axis = "model.encodings.0.scale"
    entries = [
        (point("rope", 0, **{axis: scale}), record(f"r{scale}", test={4: 1.0, 8: 0.5}))
        for scale in ("10.0", "0.3", "3.0")
    ]
    (rows,) = made(
        write_study(tmp_path, *entries),
        rows="variant",
        columns=axis,
        metric=dict(name="exact_match", at=2),
    ).values()
    assert rows[0] == ["variant", "0.3", "3.0", "10.0"]
    (title,) = made(write_study(tmp_path, *entries), rows=axis, columns="length")
    assert title == "Exact match by scale and length"


def test_a_length_that_one_task_was_not_tested_at_is_no_column_of_its_table(tmp_path):
    lengths = {"copy": (8, 16), "addition": (4, 8)}
    entries = [
        (point("rope", 0, task=t), record(t, test=dict.fromkeys(n, 0.5), task=t))
        for t, n in lengths.items()
    ]
    entries.append((point("nope", 0, task="copy"), "r"))  # no record yet
    found = made(
        write_study(tmp_path, *entries), rows="model.encodings", columns="length", each="task"
    )
    assert {title.partition(", ")[2]: rows[0][1:] for title, rows in found.items()} == {
        "copy": ["→8", "→16"],
        "addition": ["4", "→8"],
    }
