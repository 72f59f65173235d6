"""Declared tables show metrics, their intervals and signs of positions seen in training."""

import pytest

from pe_lab.results import frame
from tests.results import synthetic
from tests.results.fake_study import point, record, values
from tests.results.studies import cells, declared, declared_cells, study

AT_TWO = {"name": "exact_match", "at": 2}


def synthetic_study(folder, *, tasks=(), rates=(), encodings=("rope",), **more):
    return frame.read(
        synthetic.write(folder, tasks=tasks, schemes=(), rates=rates, encodings=encodings, **more)
    )


@pytest.fixture
def moved(tmp_path):
    """Trained at length 4, whose positions end at 9 (plain) or 24 (shifted): as large as the test's
    up to length 8, or 10 at offset 5.
    """
    test = {(n, at): 0.5 for n in (4, 8, 16) for at in (0, 5)}
    entries = []
    for scheme, largest in (("contiguous", 9), ("shifted", 24)):
        run = record(scheme, test=test, validation={4: 1.0})
        run["exposure"]["max_position"] = largest
        run["config"]["positions"] = {"name": scheme}
        entries.append((point("rope", 0, positions=scheme), run))
    return study(tmp_path, *entries)


@pytest.mark.slow
def test_the_sign_of_positions_that_training_showed_stands_at_their_place_alone(moved):
    """Not where the length was trained, not beyond the largest position, and never of what just
    counts up.
    """
    columns = ("length", "offset")
    (rows,) = declared_cells(moved, rows="positions", columns=columns).values()
    assert rows == [
        ["positions", "4, +0", "4, +5", "→8, +0", "→8, +5", "→16, +0", "→16, +5"],
        ["contiguous", *["0.50"] * 6],
        ["shifted", "0.50", "0.50", "0.50‡", "0.50‡", "0.50", "0.50"],
    ]
    (by_variant,) = declared_cells(moved, columns=columns).values()
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
    (rows,) = declared_cells(moved, rows="positions", measures=(metric,)).values()
    assert rows[2] == ["shifted", shown]


def test_the_oracle_is_the_best_of_all_seeds_and_rates_and_says_so(tmp_path):
    paper = {"oracle": "Paper 2023"}
    tuned = {"tuned": ["train.learning_rate"], **paper}
    found = synthetic_study(tmp_path, rates=synthetic.RATES, analysis=tuned)
    best = max(v for name in found.by_name for v in values(found, name, 16) if v is not None)
    (table,) = declared(found, measures=(AT_TWO, dict(AT_TWO, show="best")), **paper)
    oracle = "exact match at 2× the training length, oracle: best setting and seed, by the test"
    assert (table.header[2], table.rows[0][2].value) == (oracle, best)
    assert table.rows[0][1].value < best
    note = "Oracle: chosen by the test itself, as in Paper 2023; for comparison with it alone."
    assert note in table.notes


def test_the_best_loss_is_the_lowest(tmp_path):
    paper = {"oracle": "Paper 2023"}
    found = synthetic_study(tmp_path, analysis=paper)
    losses = values(found, "rope", 16, metric="negative_log_likelihood")
    best = dict(name="negative_log_likelihood", at=2, show="best")
    (table,) = declared(found, measures=(best,), **paper)
    assert table.rows[0][1].value == min(losses) < max(losses)


def test_a_papers_metric_is_a_metric_of_a_table(tmp_path):
    """Ruoss et al.: token accuracy, mean over lengths beyond training."""
    found = synthetic_study(tmp_path, seeds=1)
    metric = dict(name="token_accuracy", lengths=(9, 32))
    (table,) = declared(found, rows="model.encodings", columns=(), metric=metric)
    beyond = [values(found, "rope", n, metric="token_accuracy")[0] for n in (12, 16, 24, 32)]
    assert table.rows[0][1].value == pytest.approx(sum(beyond) / 4)
    assert table.title == "Token accuracy mean over lengths 9..32 by encodings"


def test_ten_seeds_have_the_interval_of_their_interquartile_mean(tmp_path):
    of_two_tasks = dict(tasks=("copy", "reverse"), encodings=("rope", "alibi"))
    found = synthetic_study(tmp_path, seeds=10, **of_two_tasks)
    metric = dict(AT_TWO, show="iqm")
    (table,) = declared(found, rows="model.encodings", columns=(), metric=metric)
    assert table.header == ("encodings", "all")
    for row in table.rows:
        low, high = row[1].text.partition("[")[2].rstrip("]").split(", ")
        assert float(low) <= row[1].value <= float(high)
    interval = (
        "BCa bootstrap of the interquartile mean for 10 seeds (with 10 seeds they contain the"
    )
    assert any(interval in note for note in table.notes)


def test_numbers_stand_in_their_own_order_and_an_axis_into_an_encoding_has_its_end_as_name(
    tmp_path,
):
    axis = "model.encodings.0.scale"
    entries = []
    for scale in ("10.0", "0.3", "3.0"):
        entries.append((point("rope", 0, **{axis: scale}), record(f"r{scale}", test={4: 1.0})))
    found = study(tmp_path, *entries)
    (table,) = declared(found, rows="variant", columns=axis, metric=dict(AT_TWO, at=1))
    assert cells(table)[0] == ["variant", "0.3", "3.0", "10.0"]
    (title,) = declared_cells(found, rows=axis, columns="length")
    assert title == "Exact match by scale and length"


def test_a_length_that_one_task_was_not_tested_at_is_no_column_of_its_table(tmp_path):
    entries = []
    for task, lengths in (("copy", (8, 16)), ("addition", (4, 8))):
        run = record(task, test=dict.fromkeys(lengths, 0.5), task=task)
        entries.append((point("rope", 0, task=task), run))
    entries.append((point("nope", 0, task="copy"), "r"))  # no record yet
    found = study(tmp_path, *entries)
    tables = declared_cells(found, rows="model.encodings", columns="length", each="task")
    assert {title.partition(", ")[2]: rows[0][1:] for title, rows in tables.items()} == {
        "copy": ["→8", "→16"],
        "addition": ["4", "→8"],
    }
