"""The numbers of budget on curves, runs and parameters where the answer is known."""

import json
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

from docs.build import budget, templates
from docs.build.budget import BUDGET, LONGEST, RATE, USUAL
from pe_lab.runs import records
from pe_lab.training.trained_runs import load, params_through_training
from tests import tiny
from tests.results.fake_study import point, record, write_study


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
    table = budget.of_curves(pd.concat([curve("a", at_once, at_twice), loss]))
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
    counts = budget.collapses(runs(best=[best], last=[last], solved=[solved]))
    assert counts.loc[("fire", "0.01"), "collapsed"] == collapses


def test_collapses_are_counted_by_rate_and_have_an_interval_over_all_rates():
    of_rates = [
        runs(best=[1, 1, 1], last=[1, 1, 0]),
        runs(best=[1, 1], last=[1, 0], solved=[True, False]).assign(**{RATE: "0.001"}),
        runs(best=[1], last=[1], name=["rope"]),
    ]
    texts = budget.collapses(pd.concat(of_rates, ignore_index=True))["text"]
    assert texts["fire"].to_dict() == {
        "0.01": "1 of 3",
        "0.001": "0 of 1",
        "all rates": "1 of 4 [0.05, 0.70]",  # as scipy.stats.binomtest has it
    }
    table = budget._table(texts)
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
    assert budget.verdict(differences) == verdict


def test_a_change_is_paired_over_the_seeds_that_solve_the_task_with_both_budgets():
    frames = []
    for label, solved, at_twice in (
        (LONGEST, [True, True, True, False], [0.9, 0.8, 0.7, 0.0]),
        (USUAL, [True, True, False, True], [0.5, 0.5, 0.5, 0.5]),
        ("7500 steps", [True] * 4, [0.0] * 4),
    ):
        frames.append(runs(seed=range(4), solved=solved, **{BUDGET: label, "2x": at_twice}))
    (differences,) = budget.changes(pd.concat(frames, ignore_index=True)).values()
    assert differences == pytest.approx([0.4, 0.3])


def test_a_mean_counts_new_runs_equally_and_its_interval_draws_seeds():
    table = runs(seed=[0, 0, 1, 1, 1], is_new=[True, True, True, True, False])
    table = table.assign(a=[1.0, 1.0, 0.0, np.nan, 9.0], b=0.0)
    cell = budget.mean_difference(table, "a", "b")
    low, high = cell.interval.low, cell.interval.high
    assert (cell.value, low, high, cell.count) == (pytest.approx(2 / 3), 0, 1, 3)
    assert cell.text == "+0.67 [0.00, +1.00] over 3 runs"


GROUP = tiny.group(  # about half of the answers are right
    task={"name": "parity"},
    layout__end_token=False,
    model__num_layers=1,
    train__steps=10,
    train__learning_rate=0.02,
    train__exclude_held_out=False,
    evaluate__lengths=(3, 6),
    evaluate__num_examples=64,
    evaluate__curve_every=9,
    checkpoints__keep_curve=True,
)


@pytest.mark.slow
def test_parameters_are_averaged_from_nine_tenths_of_training_on_and_evaluated(tmp_path):
    folder = tmp_path / budget.TRAINED
    (record, _) = tiny.train(folder, GROUP).values()
    by_step = dict(params_through_training(folder, record))
    assert list(by_step) == [0, 9, 10]
    mean = budget.averaged(folder, record)
    for leaf, a, b in zip(*map(jax.tree.leaves, (mean, by_step[9], by_step[10])), strict=True):
        np.testing.assert_allclose(leaf, (np.asarray(a) + b) / 2, rtol=1e-6)
    # The last parameters have the number of the record: the same examples are read.
    trained = load(folder, record["run_id"])
    rows = [row for row in record["rows"] if row["split"] == "test" and row["length"] == 6]
    (in_record,) = [row["value"] for row in rows if row["metric"] == "exact_match"]
    assert 0 < in_record < 1
    assert budget.exact_match(trained.setup, trained.params) == in_record

    budget.measure(tmp_path)
    measured = json.loads((tmp_path / budget.AVERAGED).read_text())
    assert measured["exact_match"].keys() == {run.run_id for run in GROUP.runs}
    assert measured["exact_match"][record["run_id"]] == budget.exact_match(trained.setup, mean)
    assert len(measured["provenance"]["commit"]) == 40

    for file in (folder / "groups").iterdir():  # as in a folder with copied records
        file.unlink()
    budget.measure(tmp_path)
    assert json.loads((tmp_path / budget.AVERAGED).read_text())["exact_match"] == {}


def test_a_page_looks_the_numbers_up_in_records_and_averages(tmp_path):
    entries = []
    for seed in range(4):
        for label, at_twice in ((LONGEST, 1.0), (USUAL, 0.25)):
            test = {4: 1.0, 8: at_twice}
            run = record(f"{label[:2]}{seed}", seed, test=test, validation={4: 1.0})
            for step, value in ((0, 0.0), (250, 0.5), (500, at_twice)):
                at = {"4": float(step > 0), "8": value}
                run["curve"].append(
                    {"step": step, "loss": 1.0, "exact_match": at, "scale_ratio": []}
                )
            labels = {RATE: "0.01", BUDGET: label, "positions": "shifted"}
            entries.append((point("learned", seed, **labels), run))
    folder = write_study(tmp_path / budget.FOLDER, *entries)
    of_new = {run["run_id"]: 0.75 for _, run in entries if run["run_id"].startswith("15")}
    records.write_json(folder / "averaged.json", {"exact_match": of_new})
    template = (
        "{{ change('learned · shifted', '0.01') }}. {{ num_with('rises') }}. "
        "{{ collapses('learned · shifted') }}. {{ averaging }}. {{ stopping }}. {{ rule.margin }}"
    )
    assert templates.render(template, **budget.lookups(tmp_path)).split(". ") == [
        "+0.75 [+0.75, +0.75], 4 seeds: rises",
        "1 of 1",
        "0 of 8 [0.00, 0.32]",
        "−0.25 [−0.25, −0.25] over 4 runs",
        "−0.50 [−0.50, −0.50] over 4 runs",
        "0.1",
    ]


def test_the_lowest_validation_loss_chooses_by_budget():
    """FIRE has its lowest loss at another rate later."""
    lookups = budget.lookups(Path(__file__).parents[2])
    chosen = [lookups["lowest_loss_rate"]("fire", steps) for steps in (3750, 15000)]
    assert chosen == ["0.003", "0.01"]
    header, _, *rows = lookups["regrets_table"]().splitlines()
    assert header == "| rule | 1875 steps | 3750 steps | 7500 steps | 15000 steps |"
    assert f"| {lookups['regret']('lowest mean loss', 15000)} |" in rows[0]
