"""Declared tables show metrics, their intervals and signs of positions seen in training."""

import pytest

from pe_lab.results import frame, selection
from tests.results import synthetic
from tests.results.declared import made, tables
from tests.results.fake_study import point, record, values, write_study


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
