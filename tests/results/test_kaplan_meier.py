"""First steps of runs from their curves, and their estimate over runs, against values by hand."""

import pytest

from pe_lab.results import (
    declared_tables,
    frame,
    kaplan_meier,
    notes,
    read_analysis_spec,
    standard_tables,
)
from pe_lab.results.metrics import BY_NAME
from pe_lab.runs import first_steps, records
from pe_lab.runs.analysis_spec import Extrapolation, MetricPoint
from pe_lab.runs.errors import UserError
from pe_lab.runs.first_steps import FirstStep
from tests.results.fake_study import measured, point, record, write_study

TWICE = Extrapolation()  # exact match of 0.9 at twice the training length, 4


def curve(*points):
    """The points of a curve from (step, exact match by length)."""
    return [
        {"step": step, "loss": 1.0, "scale_ratio": [], "exact_match": by_length}
        for step, by_length in points
    ]


def run(*points, **changes):
    status = changes.pop("status", "finished")
    return {**record("r", status=status), "curve": curve(*points), **changes}


GROWS = run(
    (0, {"2": 0.0, "4": 0.0, "8": 0.0}),
    (100, {"2": 1.0, "4": 0.97, "8": 0.2}),  # mean up to length 4: 0.985
    (200, {"2": 1.0, "4": 0.98, "8": 0.9}),  # 0.99
    (300, {"2": 0.5, "4": 0.5, "8": 0.1}),
)


def test_a_run_is_solved_at_the_first_point_with_the_mean_up_to_the_training_length():
    assert first_steps.to_solve(GROWS) == FirstStep(200)
    assert first_steps.to_extrapolate(GROWS, TWICE) == FirstStep(200)
    strict = Extrapolation(threshold=0.95)
    assert first_steps.to_extrapolate(GROWS, strict) == FirstStep(300, reached=False)


def test_a_run_that_never_gets_there_is_censored_at_its_last_point():
    assert first_steps.to_solve(run((0, {"4": 0.0}), (150, {"4": 0.9}))) == FirstStep(150, False)


def test_lengths_that_only_some_points_of_a_curve_have_do_not_count():
    """The run was resumed after step 100 with other lengths of the curve."""
    resumed = run((0, {"4": 0.0}), (100, {"4": 1.0}), (200, {"2": 0.5, "4": 1.0, "8": 1.0}))
    assert first_steps.to_solve(resumed) == FirstStep(100)
    assert first_steps.to_extrapolate(resumed, TWICE) is None
    assert first_steps.to_solve(run((0, {"2": 0.0}), (100, {"4": 1.0}))) is None


def test_a_run_that_diverged_is_censored_at_the_end_of_its_budget():
    config = {"train": {"steps": 800}}
    diverged = run((0, {"4": 0.0}), (100, {"4": 0.1}), status="diverged", config=config)
    assert first_steps.to_solve(diverged) == FirstStep(800, reached=False)
    solved_before = run((100, {"4": 1.0}), status="diverged", config=config)
    assert first_steps.to_solve(solved_before) == FirstStep(100)


def test_a_curve_without_the_length_says_nothing():
    beyond = run((100, {"8": 1.0}))
    assert first_steps.to_solve(beyond) is None
    assert first_steps.to_extrapolate(run((100, {"4": 1.0})), TWICE) is None
    shifted = Extrapolation(MetricPoint(at=2.0, offset=8))
    assert first_steps.to_extrapolate(beyond, shifted) is None
    assert first_steps.to_solve(record("r", status="failed")) is None


def times(*steps):
    """First steps; a negative one is censored."""
    return tuple(FirstStep(abs(step), reached=step > 0) for step in steps)


def test_the_estimate_of_kaplan_and_meier_by_hand():
    """At 1 one of five, at 3 one of the three that are left, at 5 the last one."""
    estimate = kaplan_meier.reached(times(1, -2, 3, -4, 5))
    assert estimate.steps.tolist() == [1, 2, 3, 4, 5]
    by_hand = [1 / 5, 1 / 5, 1 - 4 / 5 * 2 / 3, 1 - 4 / 5 * 2 / 3, 1]
    assert estimate.shares.tolist() == pytest.approx(by_hand)


def test_the_interval_of_a_share_by_hand():
    """Of five runs one is there: log-log with Greenwood's variance 1 / (5 * 4)."""
    estimate = kaplan_meier.reached(times(1, 2, -3, -3, -3))
    half = 1.959964 * 0.05**0.5 / 0.2231436  # over -log(0.8)
    remaining = (0.8**2.718281828**half, 0.8**2.718281828**-half)
    assert estimate.low[0] == pytest.approx(1 - remaining[1], abs=1e-5)
    assert estimate.high[0] == pytest.approx(1 - remaining[0], abs=1e-5)


@pytest.mark.parametrize(
    ("steps", "median"),
    [
        ((100, 200, 300), "200"),
        ((100, 200, 300, 400), "200"),  # half of the runs are there at 200
        ((100, 200, -800, -800), "200"),
        ((100, -800, -800), "> 800"),
        ((-800, -800), "> 800"),
        ((1, -1, -2, -3, 3, -9, 10), "> 9"),  # three of seven; the estimate reaches 1 at 10
        ((1500,), "1,500"),
    ],
)
def test_the_median_is_censored_if_fewer_than_half_of_the_runs_got_there(steps, median):
    assert str(kaplan_meier.median(times(*steps))) == median


def test_there_is_no_median_without_runs():
    assert kaplan_meier.median([]) is None


def test_the_interval_of_complete_runs_is_bounded_from_seven_runs_on():
    """Before the last of n runs, 1 / n remains. Greenwood's variance and the log-log form give an
    upper bound of 0.58 for n = 5, 0.52 for n = 6 and 0.46 for n = 7, by hand.
    """
    assert kaplan_meier.interval(times(1, 2, 3, 4, 5)) == (FirstStep(1), FirstStep(5, False))
    assert kaplan_meier.interval(times(1, 2, 3, 4, 5, 6)) == (FirstStep(1), FirstStep(6, False))
    assert kaplan_meier.interval(times(1, 2, 3, 4, 5, 6, 7)) == (FirstStep(1), FirstStep(6))
    assert kaplan_meier.interval(times(1, 2, 3, 4)) is None


def test_one_late_run_does_not_bound_the_interval_of_censored_ones():
    runs = times(-1000, -1000, -1000, -1000, 1500)
    assert str(kaplan_meier.median(runs)) == "> 1,000"
    assert kaplan_meier.interval(runs) == (FirstStep(1500), FirstStep(1500, reached=False))


def test_an_interval_has_no_upper_bound_where_too_few_runs_got_there():
    low, high = kaplan_meier.interval(times(100, 100, 200, 300, -800, -800))
    assert (str(low), str(high)) == ("100", "> 800")
    assert kaplan_meier.interval(times(-8, -8, -8, -8, -8)) == (FirstStep(8, False),) * 2


@pytest.fixture
def study(tmp_path):
    """RoPE is solved from two of three seeds, at 200 and 400; ALiBi from none."""
    entries = []
    for name, solved_at in (("rope", (200, 400, 900)), ("alibi", (900, 900, 900))):
        for seed, step in enumerate(solved_at):
            points = [(s, {"4": float(s >= step), "8": 0.0}) for s in (0, 200, 400, 800)]
            made = record(f"{name}{seed}", seed, test={4: 1.0, 8: 0.0}, validation={4: 1.0})
            entries.append((point(name, seed), {**made, "curve": curve(*points)}))
    return write_study(tmp_path, *entries)


def test_tables_and_frames_have_the_steps(study):
    loaded = frame.read(study)
    budgets = standard_tables.budgets(loaded)
    columns = [budgets.header.index(f"steps to {word}") for word in ("solve", "extrapolate")]
    texts = [[row[column].text for column in columns] for row in budgets.rows]
    assert texts == [["400", "> 800"], ["> 800", "> 800"]]
    assert notes.FIRST_STEPS in budgets.notes
    assert notes.SIGNS["> "] in budgets.notes
    runs = frame.read(study).runs.set_index("run_id")
    assert runs["steps_to_solve"].dropna().to_dict() == {"rope0": 200, "rope1": 400}
    assert set(runs["measured_to"]) == {800}
    assert runs["steps_to_extrapolate"].isna().all()


def test_a_table_can_show_the_steps_of_every_seed(study):
    spec = dict(measures=("steps_to_solve", dict(name="steps_to_solve", show="seeds")))
    (table,) = read_analysis_spec.from_dict(dict(tables=(spec,))).tables
    (shown,) = declared_tables.tables(frame.read(study), table)
    rows = [[cell.text for cell in row] for row in shown.rows]
    assert rows == [["rope", "400", "200 400 > 800"], ["alibi", "> 800", "> 800 > 800 > 800"]]
    assert notes.FIRST_STEPS in shown.notes


def test_the_threshold_of_the_study_decides(study):
    made = records.read_all(study)["rope0"]
    of_run = BY_NAME["steps_to_extrapolate"].of_run
    assert of_run(measured(made), 0) == FirstStep(800, reached=False)
    at_once = Extrapolation(MetricPoint(at=1.0), threshold=0.5)
    assert of_run(measured(made, extrapolation=at_once), 0) == FirstStep(200)


@pytest.mark.parametrize("show", ["mean", "iqm", "best"])
def test_censored_steps_have_no_mean(show):
    metric = dict(name="steps_to_solve", show=show)
    words = r"steps_to_solve is not known for runs that never got there: show='median' or"
    with pytest.raises(UserError, match=words):
        read_analysis_spec.from_dict(dict(oracle="A paper", tables=(dict(measures=(metric,)),)))
