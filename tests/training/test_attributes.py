"""Exact match by the attributes of examples, from the evaluation to the record."""

import functools

import jax
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_rows
from pe_lab.runs.records.evaluation_points import EvaluationPoint, is_done
from pe_lab.runs.specs import override_specs
from pe_lab.training.build import build_setup
from pe_lab.training.evaluate import Evaluator
from tests import tiny

METRIC = "exact_match_by_attribute"
NAMES = ("num_carries", "longest_carry_chain")
TASK = dict(name="addition", base=2, padding="none")
# An untrained model with answers of one token is sometimes right.
PARITY = dict(task=dict(name="parity"), layout__end_token=False, model__num_layers=1)
ADDITION = dict(task=TASK, train__max_length=2, model__num_layers=1)


def rows_of(setup, *points):
    lengths = (*setup.run.evaluate.all_lengths, *(point.length for point in points))
    evaluator = Evaluator(setup, lengths, lambda function, *_: jax.jit(function))
    return evaluator.rows(tiny.params_of(setup), points)[0]


@functools.cache
def parity_rows():
    setup = build_setup(tiny.run("rope", **PARITY, evaluate__attributes=("num_ones",)))
    return rows_of(setup, EvaluationPoint("test", 2, 0), EvaluationPoint("test", 5, 0))


def by_attribute(rows, length):
    return {
        row["attribute"]: row["value"]
        for row in rows
        if row["metric"] == METRIC and row["length"] == length
    }


@pytest.mark.slow
@pytest.mark.parametrize("length", [2, 5])
def test_counts_and_successes_of_all_values_are_those_of_the_point(length):
    exact_match = next(
        row for row in parity_rows() if row["metric"] == "exact_match" and row["length"] == length
    )
    values, counts, successes = zip(*by_attribute(parity_rows(), length)["num_ones"], strict=True)
    assert sorted(set(values)) == list(values)
    assert sum(counts) == exact_match["count"] == 16
    assert sum(successes) == exact_match["value"] * 16
    assert 0 < sum(successes) < 16


@pytest.mark.slow
def test_rows_have_the_label_of_the_attribute():
    labels = {row["attribute_label"] for row in parity_rows() if row["metric"] == METRIC}
    assert labels == {"number of ones"}


@pytest.mark.slow
def test_other_rows_are_the_same_without_attributes():
    setup = build_setup(tiny.run("rope", **PARITY))
    plain = rows_of(setup, EvaluationPoint("test", 2, 0), EvaluationPoint("test", 5, 0))
    assert [row for row in parity_rows() if row["metric"] != METRIC] == plain


def test_attributes_do_not_change_the_id_of_a_run():
    run = tiny.run("rope", **PARITY, evaluate__attributes=("num_ones",))
    assert run.run_id == tiny.run("rope", **PARITY).run_id


@pytest.mark.slow
def test_overrides_of_the_task_have_attributes_of_their_own_arguments():
    """Six binary operands have a chain of carries that two operands of one digit cannot have."""
    run = tiny.run("rope", **ADDITION, evaluate__attributes=NAMES)
    overrides = [override_specs.override(dict(task=dict(operands=n)), run) for n in (2, 6)]
    points = [EvaluationPoint("test", 1, 0, override) for override in overrides]
    rows = rows_of(build_setup(run), *points)
    longest = {}
    for row in rows:
        if row.get("attribute") == "num_carries":
            assert sum(count for _, count, _ in row["value"]) == 16
            longest[row["override"]["label"]] = max(value for value, _, _ in row["value"])
    assert longest == {"operands=2": 1, "operands=6": 2}


@pytest.mark.slow
def test_a_point_that_cannot_be_measured_has_a_reason_for_each_attribute():
    setup = build_setup(
        tiny.run(
            dict(name="learned", max_positions=6),
            task=dict(name="parity"),
            evaluate__attributes=("num_ones",),
        )
    )
    exact_match, attribute = rows_of(setup, EvaluationPoint("test", 9, 0))
    assert (exact_match["metric"], attribute["metric"]) == ("exact_match", METRIC)
    assert attribute["attribute"] == "num_ones"
    assert attribute["value"] is None
    assert attribute["reason"] == exact_match["reason"]


@pytest.mark.slow
def test_attributes_of_a_finished_run_are_measured_later_and_change_no_other_row(tmp_path):
    group = tiny.group("rope", **PARITY, seeds=1)
    record = tiny.train(tmp_path, group)[0]
    later = tiny.group("rope", **PARITY, seeds=1, evaluate__attributes=("num_ones",))
    run = later.run
    assert is_done(group.run, record)
    assert not is_done(run, record)
    extended = tiny.train(tmp_path, later)[0]
    assert extended["rows"][: len(record["rows"])] == record["rows"]
    new = extended["rows"][len(record["rows"]) :]
    assert {row["metric"] for row in new} == {METRIC}
    assert len(new) == len({record_rows.point_key(row) for row in record["rows"]})
    assert is_done(run, extended)
    assert is_done(group.run, extended)


@pytest.mark.parametrize(
    ("task", "names", "message"),
    [
        (
            "parity",
            ("num_one",),
            r"^config\.evaluate\.attributes: the task parity has no 'num_one'\. Did you mean "
            r"'num_ones'\? It has: num_ones\.$",
        ),
        ("sort", ("num_ones",), r"the task sort has no 'num_ones'\. It has: nothing\.$"),
        (
            "parity",
            ("num_ones", "num_ones"),
            r"^config\.evaluate\.attributes names 'num_ones' twice\.$",
        ),
    ],
)
def test_names_that_a_task_does_not_have_are_refused(task, names, message):
    with pytest.raises(UserError, match=message):
        tiny.run(task=dict(name=task), evaluate__attributes=names)
