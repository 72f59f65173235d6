"""The rules of budget on curves and runs where the answer is known."""

import numpy as np
import pandas as pd
import pytest

from results.published.budget import page
from results.published.budget.page import BUDGET, LONGEST, RATE, USUAL


def curve(run_id, at_once, at_twice):
    """The rows of a curve with a point every 250 steps, in the order of records."""
    rows = []
    for index, values in enumerate(zip(at_once, at_twice, strict=True)):
        for length, value in zip((16, 32), values, strict=True):
            rows.append((run_id, 250 * index, length, value))
    table = pd.DataFrame(rows, columns=["run_id", "step", "length", "value"])
    return table.assign(max_length=16, metric="exact_match")


@pytest.mark.parametrize(
    ("at_once", "at_twice", "expected"),
    [
        ([0, 0.98, 1, 1], [0, 0.5, 0.75, 1], (1, 1, 0.75)),  # rises after the first solved point
        ([0, 1, 0.5, 1], [0, 0.875, 1, 0.5], (1, 0.5, 0.875)),  # the first point counts
        ([0, 0.5, 0.98], [0, 0.25, 0.125], (0.25, 0.125, np.nan)),  # no point is solved
    ],
)
def test_a_curve_has_its_best_last_and_first_solved_point(at_once, at_twice, expected):
    loss = pd.DataFrame([("a", 250, pd.NA, 2.0, 16, "loss")])
    loss.columns = ["run_id", "step", "length", "value", "max_length", "metric"]
    table = page.of_curves(pd.concat([curve("a", at_once, at_twice), loss]))
    np.testing.assert_array_equal(table.loc["a", ["best", "last", "first_solved"]], expected)


def runs(**columns):
    """Runs of one encoding and rate, one for each value of a column."""
    return pd.DataFrame({"name": "fire", RATE: "0.01", "solved": True, **columns})


@pytest.mark.parametrize(
    ("best", "last", "solved", "collapses"),
    [
        (0.9375, 0.4375, True, True),
        (0.9375, 0.5, True, False),  # falls by less than 0.5
        (0.875, 0.0, True, False),  # was never at 0.9
        (1.0, 0.0, False, False),  # the training lengths are not solved
    ],
)
def test_a_run_collapses_by_the_rule_of_the_config(best, last, solved, collapses):
    counts = page.collapses(runs(best=[best], last=[last], solved=[solved]))
    assert counts.loc[("fire", "0.01"), "collapsed"] == collapses


def test_collapses_are_counted_by_rate_and_have_an_interval_over_all_rates():
    of_rates = [
        runs(best=[1, 1, 1], last=[1, 1, 0]),
        runs(best=[1, 1], last=[1, 0], solved=[True, False]).assign(**{RATE: "0.001"}),
        runs(best=[1], last=[1], name=["rope"]),
    ]
    texts = page.collapses(pd.concat(of_rates, ignore_index=True))["text"]
    assert texts["fire"].to_dict() == {
        "0.01": "1 of 3",
        "0.001": "0 of 1",
        "all rates": "1 of 4 [0.05, 0.70]",  # as scipy.stats.binomtest has it
    }
    table = page._table(texts)
    assert table.splitlines()[-1] == "| `rope` | 0 of 1 | – | 0 of 1 [0.00, 0.79] |"


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0.5, 0.6, 0.7, 0.8], "rises"),
        ([-0.5, -0.6, -0.7], "falls"),
        ([0.02, -0.02, 0.01, -0.01], "stays"),
        ([0.0, 0.0, 0.0], "stays"),
        ([0.02, 0.03, 0.02, 0.03], "rises"),  # within the margin too: the first rule decides
        ([1.0, 0.9, -0.9, 0.0], "undecided"),
        ([0.5, 0.5], "undecided"),  # too few seeds
        ([], "undecided"),
    ],
)
def test_the_verdict_is_that_of_the_declared_rule(differences, verdict):
    assert page.verdict(differences) == verdict


def test_a_change_is_paired_over_the_seeds_that_solve_the_task_with_both_budgets():
    frames = []
    for label, solved, at_twice in (
        (LONGEST, [True, True, True, False], [0.9, 0.8, 0.7, 0.0]),
        (USUAL, [True, True, False, True], [0.5, 0.5, 0.5, 0.5]),
        ("7500 steps", [True] * 4, [0.0] * 4),
    ):
        frames.append(runs(seed=range(4), solved=solved, **{BUDGET: label, "2x": at_twice}))
    (differences,) = page.changes(pd.concat(frames, ignore_index=True)).values()
    assert differences == pytest.approx([0.4, 0.3])


def test_a_mean_counts_new_runs_equally_and_its_interval_draws_seeds():
    table = runs(seed=[0, 0, 1, 1, 1], is_new=[True, True, True, True, False])
    table = table.assign(a=[1.0, 1.0, 0.0, np.nan, 9.0], b=0.0)
    cell = page.mean_difference(table, "a", "b")
    low, high = cell.interval.low, cell.interval.high
    assert (cell.value, low, high, cell.count) == (pytest.approx(2 / 3), 0, 1, 3)
    assert cell.text == "+0.67 [0.00, +1.00] over 3 runs"
