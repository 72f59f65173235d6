"""A tuned study whose sweep is killed and started again. Records are made up, not trained."""

import json
import math
import shutil

import pytest

from pe_lab.runs import evaluation_points, grid, records
from pe_lab.sweeps import stages, tuning
from pe_lab.training import run_records
from tests import tiny
from tests.marks import full_except

RATE = "train.learning_rate"
BEST = {"nope": 3e-3, "alibi": 1e-2}  # ALiBi's is at the edge, and gets one more value
POINTS = grid.product({"model.encodings": [({"name": name},) for name in BEST]}, {"seed": range(3)})
TUNE = tuning.Tuning({RATE: (1e-3, 3e-3, 1e-2)}, seeds=2, extend=True)
FIRST, EXTENDED, LAST = 2 * 3 * 2, 2, 2  # runs of each stage


class Killed(BaseException):
    """As if the process had been killed."""


@pytest.fixture(scope="module")
def sweep():
    """Start the sweep in a folder, kill it after some runs, and return the ids that it trained.

    Runs of `fail_once` fail when they are trained for the first time.
    """

    def start(folder, kill_after=None, fail_once=()):
        trained = []
        failing = set(fail_once)

        def train(todo, launcher):
            todo.study.write(folder)
            for run in [run for group in todo.groups for run in group.runs]:
                if len(trained) == kill_after:
                    raise Killed
                record = finished(run)
                if run.run_id in failing:
                    failing.remove(run.run_id)
                    record = {**run_records.blank(run), "status": "failed", "error": "no memory"}
                records.write(folder, record)
                trained.append(run.run_id)
            return {}

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(stages.sweep, "run", train)
            request = stages.StudyRequest("tuned", tiny.values(), POINTS, folder, tune=TUNE)
            try:
                stages.train(request, stages.Mode())
            except Killed:
                assert len(trained) == kill_after
        return trained

    return start


@pytest.fixture(scope="module")
def unbroken(sweep, tmp_path_factory):
    """The folder of a sweep that was not killed, and the ids of its runs."""
    folder = tmp_path_factory.mktemp("unbroken")
    return folder, sweep(folder)


def finished(run):
    """A record with all rows, whose loss depends on the encoding, the rate and the seed."""
    (encoding,) = run.model.encodings
    loss = abs(math.log10(run.train.learning_rate / BEST[encoding.name])) + 0.01 * run.seed
    points = evaluation_points.grid(run)
    rows = [point.row("negative_log_likelihood", loss, 16) for point in points]
    exposure = {"max_length": run.train.max_length, "solved_threshold": 0.99}
    parts = {"status": "finished", "rows": rows, "exposure": exposure}
    return {**run_records.blank(run), **parts}


def choices(folder):
    study = json.loads((folder / "study.json").read_text())
    by_variant = {c["variant"]["model.encodings"]: c for c in study["tuning"]["choices"]}
    assert {name: c["setting"][RATE] for name, c in by_variant.items()} == {
        "nope": "0.003",
        "alibi": "0.01",
    }
    return study


@pytest.mark.slow
@pytest.mark.parametrize(
    "kill_after",
    full_except(
        [FIRST // 2, FIRST + 1],
        [0, FIRST // 2, FIRST, FIRST + 1, FIRST + EXTENDED, FIRST + EXTENDED + 1],
    ),
)
def test_a_sweep_that_was_killed_chooses_what_an_unbroken_one_chooses(
    sweep, unbroken, tmp_path, kill_after
):
    folder, every_run = unbroken
    assert len(every_run) == FIRST + EXTENDED + LAST
    before = sweep(tmp_path, kill_after)
    after = sweep(tmp_path)
    assert len(before) == kill_after
    assert sorted(before + after) == sorted(every_run)  # none is trained twice
    assert choices(tmp_path) == choices(folder)
    assert records.read_all(tmp_path) == records.read_all(folder)


@pytest.mark.slow
def test_runs_that_fail_at_first_do_not_change_the_choice(sweep, unbroken, tmp_path):
    """The best rate of NoPE fails with both seeds, and then trains in the last stage."""
    folder, every_run = unbroken
    best = [
        run_id
        for run_id, record in records.read_all(folder).items()
        if record["config"]["model"]["encodings"][0]["name"] == "nope"
        and record["config"]["train"]["learning_rate"] == BEST["nope"]
        and record["config"]["seed"] < TUNE.seeds
    ]
    trained = sweep(tmp_path, fail_once=best)
    assert len(best) == TUNE.seeds
    assert set(every_run) < set(trained)  # more rates were at an edge, or had other seeds
    choices(tmp_path)  # checks the chosen rates
    finished_runs = records.read_all(tmp_path)
    assert all(finished_runs[run_id]["status"] == "finished" for run_id in every_run)


@pytest.mark.parametrize("stage", ["first", "extended", "last"])
def test_a_damaged_record_of_any_stage_is_trained_again(sweep, unbroken, tmp_path, stage):
    folder, every_run = unbroken
    shutil.copytree(folder, tmp_path / "study")
    positions = {"first": 0, "extended": FIRST, "last": FIRST + EXTENDED}
    run_id = every_run[positions[stage]]
    path = records.path_of(tmp_path / "study", run_id)
    path.write_bytes(path.read_bytes()[:300])
    assert sweep(tmp_path / "study") == [run_id]
    assert records.read_all(tmp_path / "study") == records.read_all(folder)
    assert choices(tmp_path / "study") == choices(folder)


@pytest.mark.parametrize("stated", ["train.weight_decay", ["train.weight_decay"]])
def test_axes_that_the_analysis_calls_tuned_are_added_to_those_of_the_tuning(stated, tmp_path):
    """One text is one axis, and not an axis for each of its letters."""
    analysis = {"tuned": stated}
    request = stages.StudyRequest("tuned", tiny.values(), POINTS, tmp_path, analysis, TUNE)
    tuned = stages._TunedStages(request, stages.Mode(), TUNE).request.analysis["tuned"]
    assert tuned == ("train.weight_decay", RATE)
