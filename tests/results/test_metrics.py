import math

import numpy as np
import pytest
from scipy import optimize

from pe_lab.metrics.auc import area
from pe_lab.metrics.base import Limit
from pe_lab.metrics.L90 import limit
from pe_lab.results import compare, summary
from pe_lab.results.metrics import BY_NAME
from pe_lab.runs.records import record_rows
from pe_lab.runs.studies import outcomes
from pe_lab.runs.studies.analysis_spec import Extrapolation, MetricPoint
from tests.results.fake_study import measured, point, record
from tests.results.studies import study

FALLING = {4: 1.0, 8: 0.8, 16: 0.2}


def run(test=None, validation=None, max_length=8, *, extrapolation=Extrapolation(), **more):
    validation = validation or {max_length: 1.0}
    made = record("r", test=test, validation=validation, max_length=max_length, **more)
    return measured(made, extrapolation=extrapolation)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ({4: 1.0, 8: 0.95, 16: 0.5}, Limit(8)),
        ({4: 1.0, 8: 0.95, 16: 0.92}, Limit(16, 1)),  # still at the last length measured
        ({4: 0.5, 8: 0.4}, Limit(4, -1)),
        ({4: 0.86, 8: 0.96, 16: 0.1}, Limit(8)),  # smoothed: 0.91 at both
        ({4: 0.7, 8: 1.0}, Limit(4, -1)),  # 0.85 at both
        ({4: 1.0, 8: 1.0, 16: None}, Limit(8)),  # its table ends
        ({}, None),
    ],
)
def test_the_length_up_to_which_a_run_holds(test, expected):
    assert limit(run(test), 0.9) == expected


def test_a_limit_says_on_which_side_it_is_open_and_limits_have_an_order():
    assert [str(Limit(8)), str(Limit(64, 1)), str(Limit(4, -1))] == ["8", "≥ 64", "< 4"]
    assert sorted([Limit(8, 1), Limit(4), Limit(8), Limit(4, -1)]) == [
        Limit(4, -1),
        Limit(4),
        Limit(8),
        Limit(8, 1),
    ]


def test_lengths_with_more_examples_weigh_more_in_the_smoothing():
    made = record("r", test={4: 0.8, 8: 1.0}, max_length=8)
    made["rows"] = [{**r, "count": 900 if r["length"] == 8 else 100} for r in made["rows"]]
    assert limit(measured(made), 0.97) == Limit(8, 1)  # (0.8 + 9) / 10
    assert limit(measured(made), 0.99) == Limit(4, -1)


def test_a_limit_is_that_of_scipys_isotonic_regression():
    generator = np.random.default_rng(0)
    lengths = [2, 4, 8, 12, 16]
    for _ in range(200):
        values = generator.integers(70, 101, size=5) / 100
        counts = generator.choice([10, 100, 1000], size=5)
        made = record("r", test=dict(zip(lengths, values.tolist(), strict=True)))
        tests = [row for row in made["rows"] if row["split"] == "test"]
        for row in tests:
            row["count"] = int(counts[lengths.index(row["length"])])
        smooth = optimize.isotonic_regression(values, weights=counts, increasing=False).x
        reached = [n for n, value in zip(lengths, smooth, strict=True) if value >= 0.9 - 1e-9]
        expected = Limit(max(reached), int(max(reached) == 16)) if reached else Limit(2, -1)
        assert limit(measured(made), 0.9) == expected


def test_the_area_is_the_integral_of_straight_lines():
    """1 at 8 down to 0 at 16: half; over the logarithm, of 2 - 2^u between 0 and 1: 2 - 1 / ln
    2.
    """
    made = run({8: 1.0, 16: 0.0})
    assert area(made) == pytest.approx(0.5)
    assert area(made, log=True) == pytest.approx(2 - 1 / math.log(2), abs=1e-4)
    assert area(run({4: 0.0, 8: 1.0, 12: 1.0, 16: 1.0, 32: 0.0})) == 1.0


@pytest.mark.parametrize(
    "test", [{8: 1.0, 12: 1.0}, {12: 1.0, 16: 1.0}, {8: 1.0, 12: None, 16: 0.0}, {}]
)
def test_an_area_that_is_not_measured_from_end_to_end_is_none(test):
    assert area(run(test)) is None


def test_lengths_that_do_not_fall_on_the_ends_are_interpolated():
    """0.8 at 6 and 0 at 10: 0.4 at 8, 0 from 10 to 16."""
    assert area(run({6: 0.8, 10: 0.0, 18: 0.0})) == pytest.approx(0.4 * 2 / 2 / 8, abs=1e-3)


@pytest.mark.parametrize(
    ("test", "validation", "expected"),
    [
        ({16: 0.9}, {8: 1.0}, True),
        ({16: 0.89}, {8: 1.0}, False),
        ({16: 1.0}, {8: 0.9}, False),  # not solved
        ({16: None}, {8: 1.0}, False),  # its table ends
        ({12: 1.0}, {8: 1.0}, None),  # nobody has measured it there
    ],
)
def test_a_run_extrapolates_if_it_is_solved_and_reaches_the_threshold_at_twice_its_training_length(
    test, validation, expected
):
    assert BY_NAME["extrapolates"].of_length(run(test, validation), 16, 0) == expected


@pytest.mark.parametrize(("status", "expected"), [("diverged", False), ("failed", None)])
def test_a_run_that_diverged_does_not_extrapolate_and_of_one_that_failed_it_is_not_known(
    status, expected
):
    made = run({16: 1.0} if status == "diverged" else {}, status=status)
    assert BY_NAME["extrapolates"].of_length(made, 16, 0) == expected


def test_a_run_that_diverged_has_no_outcome_at_a_length_that_its_config_does_not_evaluate(tmp_path):
    """Nor has its variant, unless a finished run was evaluated there later."""
    runs = [record(f"r{i}", i, status="diverged") for i in range(2)]
    runs.append(record("r2", 2, test={4: 1.0, 16: 1.0}, validation={4: 1.0}))
    found = study(tmp_path, *((point("rope", i), run) for i, run in enumerate(runs)))
    counts = []
    for length in (8, 12, 16):
        at_length = compare.extrapolation_counts(found, ["rope"], MetricPoint(length=length))
        counts.append(str(at_length["rope"]))
    assert counts == ["0/2", "0/0", "1/3"]


def test_extrapolation_may_be_read_at_another_point():
    tests = {12: 0.7, 16: 0.2, (8, 5): 0.8}
    made = run(tests, extrapolation=Extrapolation(threshold=0.6))
    extrapolates = BY_NAME["extrapolates"].of_length
    assert [extrapolates(made, *at) for at in ((12, 0), (16, 0), (8, 5))] == [1, 0, 1]


@pytest.mark.parametrize(
    ("at", "max_length", "length"), [(2.0, 8, 16), (1.5, 8, 12), (1.5, 9, None), (1.1, 10, 11)]
)
def test_a_multiple_of_the_training_length_that_is_no_length_is_none(at, max_length, length):
    assert MetricPoint(at=at).length_for(max_length) == length


def test_the_mean_over_a_range_is_over_the_lengths_measured_in_it(tmp_path):
    tests = ({8: 1.0, 16: 0.6, 24: 0.2, 32: 0.0}, {16: 0.6, 24: None})
    found = study(tmp_path, *(record(f"r{i}", test=test) for i, test in enumerate(tests)))
    asked = MetricPoint(lengths=(9, 24))
    mean, unknown = summary.values_at(found, found.cases, "exact_match", asked)["value"]
    assert mean == pytest.approx(0.4)
    assert math.isnan(unknown)
    beyond = summary.values_at(found, found.cases, "exact_match", MetricPoint(lengths=(33, 64)))
    assert beyond["value"].isna().all()


@pytest.mark.parametrize(
    ("name", "test", "expected"),
    [
        ("in_distribution", FALLING, 0.9),
        ("trained_length", FALLING, 0.8),
        ("retention", FALLING, 0.25),
        ("retention", {8: 0.0, 16: 0.0}, None),  # it does not work at the training length
        ("L90", FALLING, Limit(4)),
        ("steps", FALLING, None),
        ("auc", FALLING, 0.5),
    ],
)
def test_one_number_of_a_run(name, test, expected):
    found = BY_NAME[name].of_run(run(test), 0)
    assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)


def test_costs_and_the_validation_loss_of_a_run():
    made = record("r", validation={4: 1.0, 8: 1.0}, max_length=8)
    made["cost"] = {"steps": 100, "parameters": 7, "train_flops": 12}
    for length, loss in ((4, 0.25), (8, 0.75)):
        row = record_rows.row("validation", length, 0, "negative_log_likelihood", loss, 100)
        made["rows"].append(row)
    names = ("steps", "parameters", "flops", "in_distribution_loss")
    assert [BY_NAME[name].of_run(measured(made), 0) for name in names] == [100, 7, 12, 0.5]
    assert outcomes.mean_validation_loss(record("r", status="diverged")) == math.inf
