"""First steps of runs from their curves, and their estimate over runs, against values by hand."""

import pytest

from pe_lab.results import cells, frame, notes, read_analysis_spec, standard_tables, summary
from pe_lab.results.metrics import BY_NAME
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.studies import outcomes
from pe_lab.runs.studies.analysis_spec import Extrapolation, MetricPoint, MetricSpec
from pe_lab.runs.studies.outcomes import FirstStep
from tests.results.fake_study import entry, measured, record, write_study
from tests.results.studies import declared

TWICE = Extrapolation()  # exact match of 0.9 at twice the training length, 4


def run(by_step, status="finished"):
    """A record whose curve has exact match by step and length, and whose budget is 800 steps."""
    curve = [
        {"step": step, "loss": 1.0, "scale_ratio": [], "exact_match": by_length}
        for step, by_length in by_step.items()
    ]
    return {**record("r", status=status), "curve": curve, "config": {"train": {"steps": 800}}}


GROWS = run(
    {
        0: {"2": 0.0, "4": 0.0, "8": 0.0},
        100: {"2": 1.0, "4": 0.97, "8": 0.2},  # mean up to length 4: 0.985
        200: {"2": 1.0, "4": 0.98, "8": 0.9},  # 0.99
        300: {"2": 0.5, "4": 0.5, "8": 0.1},
    }
)
# The run was resumed after step 100 with other lengths of the curve.
RESUMED = run({0: {"4": 0.0}, 100: {"4": 1.0}, 200: {"2": 0.5, "4": 1.0, "8": 1.0}})


@pytest.mark.parametrize(
    ("curve", "step"),
    [
        (GROWS, FirstStep(200)),  # the first point with the mean up to the training length
        (run({0: {"4": 0.0}, 150: {"4": 0.9}}), FirstStep(150, reached=False)),
        (RESUMED, FirstStep(100)),
        (run({0: {"2": 0.0}, 100: {"4": 1.0}}), None),  # no length is in all points
        (run({100: {"8": 1.0}}), None),  # nothing up to the training length
        (run({0: {"4": 0.0}, 100: {"4": 0.1}}, "diverged"), FirstStep(800, reached=False)),
        (run({100: {"4": 1.0}}, "diverged"), FirstStep(100)),
        (record("r", status="failed"), None),
    ],
)
def test_the_step_at_which_a_run_is_solved(curve, step):
    assert outcomes.steps_to_solve(curve) == step


@pytest.mark.parametrize(
    ("curve", "extrapolation", "step"),
    [
        (GROWS, TWICE, FirstStep(200)),
        (GROWS, Extrapolation(threshold=0.95), FirstStep(300, reached=False)),
        (RESUMED, TWICE, None),  # only the last point has length 8
        (run({100: {"4": 1.0}}), TWICE, None),
        (run({100: {"8": 1.0}}), Extrapolation(MetricPoint(at=2.0, offset=8)), None),
    ],
)
def test_the_step_at_which_a_run_extrapolates(curve, extrapolation, step):
    assert outcomes.steps_to_extrapolate(curve, extrapolation) == step


def times(*steps):
    """First steps; a negative one is censored."""
    return tuple(FirstStep(abs(step), reached=step > 0) for step in steps)


def test_the_estimate_of_kaplan_and_meier_by_hand():
    """At 1 one of five, at 3 one of the three that are left, at 5 the last one."""
    steps, shares = cells.kaplan_meier(times(1, -2, 3, -4, 5))
    assert steps.tolist() == [1, 2, 3, 4, 5]
    by_hand = [1 / 5, 1 / 5, 1 - 4 / 5 * 2 / 3, 1 - 4 / 5 * 2 / 3, 1]
    assert shares.tolist() == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("steps", "median"),
    [
        ((100, 200, 300), "200"),
        ((100, 200, 300, 400), "200"),  # half of the runs are there at 200
        ((100, 200, -800, -800), "200"),
        ((100, -800, -800), "> 800"),
        ((-800, -800), "> 800"),
        ((1, -1, -2, -3, 3, -9, 10), "> 9"),  # three of seven; the estimate reaches 1 at 10
        ((-1000, -1000, -1000, -1000, 1500), "> 1,000"),
        ((1500,), "1,500"),
        ((), "None"),
    ],
)
def test_the_median_is_censored_if_fewer_than_half_of_the_runs_got_there(steps, median):
    assert str(cells.median_step(times(*steps))) == median


def test_the_median_of_five_runs_has_no_interval(tmp_path):
    curve = run({0: {"4": 0.0}, 200: {"4": 1.0}})["curve"]
    entries = []
    for seed in range(5):
        labels, made = entry("rope", seed, test={4: 1.0, 8: 0.0})
        entries.append((labels, {**made, "curve": curve}))
    (row,) = standard_tables.budgets(frame.read(write_study(tmp_path, *entries))).rows
    assert "200" in [cell.text for cell in row]


@pytest.fixture
def study(tmp_path):
    """RoPE is solved from two of three seeds, at 200 and 400; ALiBi from none."""
    entries = []
    for name, solved_at in (("rope", (200, 400, 900)), ("alibi", (900, 900, 900))):
        for seed, first in enumerate(solved_at):
            grown = {step: {"4": float(step >= first), "8": 0.0} for step in (0, 200, 400, 800)}
            labels, made = entry(name, seed, test={4: 1.0, 8: 0.0})
            entries.append((labels, {**made, "curve": run(grown)["curve"]}))
    return write_study(tmp_path, *entries)


def test_tables_and_frames_have_the_steps(study):
    loaded = frame.read(study)
    budgets = standard_tables.budgets(loaded)
    columns = [budgets.header.index(f"steps to {word}") for word in ("solve", "extrapolate")]
    texts = [[row[column].text for column in columns] for row in budgets.rows]
    assert texts == [["400", "> 800"], ["> 800", "> 800"]]
    assert notes.FIRST_STEPS in budgets.notes
    assert notes.SIGNS["> "] in budgets.notes
    runs = loaded.runs.set_index("run_id")
    assert runs["steps_to_solve"].dropna().to_dict() == {"rope0": 200, "rope1": 400}
    assert set(runs["measured_to"]) == {800}
    assert runs["steps_to_extrapolate"].isna().all()


def test_a_table_can_show_the_steps_of_every_seed(study):
    measures = ("steps_to_solve", dict(name="steps_to_solve", show="seeds"))
    (shown,) = declared(frame.read(study), measures=measures)
    rows = [[cell.text for cell in row] for row in shown.rows]
    assert rows == [["rope", "400", "200 400 > 800"], ["alibi", "> 800", "> 800 > 800 > 800"]]
    assert notes.FIRST_STEPS in shown.notes


def test_the_threshold_of_the_study_decides(study):
    made = records.read_all(study)["rope0"]
    of_run = BY_NAME["steps_to_extrapolate"].of_run
    assert of_run(measured(made), 0) == FirstStep(800, reached=False)
    at_once = Extrapolation(MetricPoint(at=1.0), threshold=0.5)
    assert of_run(measured(made, extrapolation=at_once), 0) == FirstStep(200)


@pytest.mark.parametrize("show", ["mean", "iqm"])
@pytest.mark.parametrize("metric", ["steps_to_solve", "L90"])
def test_bounds_have_their_median_in_place_of_a_mean(study, metric, show):
    loaded = frame.read(study)
    specs = [MetricSpec(metric, show=each) for each in ("median", show)]
    shown = [summary.of_metric(loaded, loaded.cases, spec) for spec in specs]
    of_rope, again = (of_show.of("rope") for of_show in shown)
    assert of_rope == again
    assert of_rope.text == {"steps_to_solve": "400", "L90": "4"}[metric]


@pytest.mark.parametrize("show", ["mean", "iqm", "best"])
def test_censored_steps_have_no_mean(show):
    metric = dict(name="steps_to_solve", show=show)
    words = r"steps_to_solve is not known for runs that never got there: show='median' or"
    with pytest.raises(UserError, match=words):
        read_analysis_spec.from_dict(dict(oracle="A paper", tables=(dict(measures=(metric,)),)))
