"""Progress of a study: done, running, failed and remaining runs."""

import pytest

from pe_lab.cli import status as command
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.system import locks
from pe_lab.sweeps import status, sweep
from pe_lab.training import run_records
from tests import tiny
from tests.experiments.entry_points import call, refused
from tests.sweeps.fake_launchers import Ends

GROUP = tiny.group("rope", seeds=4)
COST = {"train_seconds": 6.0, "compile_seconds": 4.0}


@pytest.fixture
def folder(tmp_path):
    """A study of four runs in one run group: finished, diverged, failed, without a record."""
    entries = [
        {"labels": {"model.encodings": "rope", "seed": str(r.seed)}, "run_id": r.run_id}
        for r in GROUP.runs
    ]
    records.write_json(tmp_path / "study.json", {"name": "x", "entries": entries})
    content = {"runs": [r.to_dict() for r in GROUP.runs], "run_ids": [r.run_id for r in GROUP.runs]}
    records.write_json(tmp_path / "groups" / f"{GROUP.group_id}.json", content)
    for run, state, error in zip(
        GROUP.runs,
        ("finished", "diverged", "failed"),
        (None, "the loss was not finite", "no room"),
        strict=False,
    ):
        cost = None if state == "failed" else COST
        records.write(
            tmp_path, run_records.blank(run) | {"status": state, "error": error, "cost": cost}
        )
    return tmp_path


def states(found):
    return [(run.state, run.about) for run in found.runs]


def test_each_run_has_its_state_and_reason(folder):
    found = status.read(folder)
    assert states(found) == [
        ("done", ""),
        ("done", "the loss was not finite"),
        ("failed", "no room"),
        ("left", ""),
    ]
    assert (found.workers, found.seconds_left) == (
        0,
        10.0,
    )  # one run as long as the mean of those that are done


def test_a_run_whose_group_a_process_is_at_runs(folder):
    said = {
        "event": "progress",
        "step": 4,
        "loss": 0.5,
        "losses": [0.2, None, 0.3, 0.7],
        "steps_per_second": 8.0,
    }
    with locks.held(folder / "groups" / f"{GROUP.group_id}.lock"):
        assert [s for s, _ in states(status.read(folder))] == ["done", "done", "running", "running"]
        assert status.read(folder).seconds_left is None  # it has not said how fast it is
        records.write_json(folder / "progress" / f"{GROUP.group_id}.json", said)
        found = status.read(folder)
    assert states(found)[2:] == [
        ("running", "step 4 of 12, loss 0.3000"),
        ("running", "step 4 of 12, loss 0.7000"),
    ]
    assert (found.workers, found.seconds_left) == (1, (12 - 4) * 4 / 8.0)


@pytest.mark.parametrize("losses", [None, 0.5, [0.5], [0.5, 0.5, 0.5, None], [0.5, 0.5, 0.5, "a"]])
def test_a_run_whose_own_loss_is_unknown_shows_none(folder, losses):
    said = {"event": "progress", "step": 4, "loss": 0.5, "losses": losses}
    with locks.held(folder / "groups" / f"{GROUP.group_id}.lock"):
        records.write_json(folder / "progress" / f"{GROUP.group_id}.json", said)
        assert states(status.read(folder))[3] == ("running", "step 4 of 12")


def test_a_run_that_is_trained_in_one_of_its_groups_is_running(folder):
    waiting = GROUP.runs[3]
    for group_id in ("0" * 16, "f" * 16):
        content = {"runs": [waiting.to_dict()], "run_ids": [waiting.run_id]}
        records.write_json(folder / "groups" / f"{group_id}.json", content)
    for group_id in ("0" * 16, "f" * 16):
        with locks.held(folder / "groups" / f"{group_id}.lock"):
            assert states(status.read(folder))[3] == ("running", "compiling")


def test_a_damaged_record_is_left_to_be_trained_again(folder):
    records.path_of(folder, GROUP.runs[0].run_id).write_text("{", encoding="utf-8")
    assert states(status.read(folder))[0] == ("left", "its record is damaged")


def test_a_folder_without_a_study_is_refused(tmp_path):
    with pytest.raises(
        UserError, match=rf"^There is no study in {tmp_path}: {tmp_path}/study\.json is missing\.$"
    ):
        status.read(tmp_path)


def test_the_study_in_a_folder_inside_is_named(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "study.json").touch()
    with pytest.raises(UserError, match=rf"is missing\. Its folder {tmp_path}/mine holds one\.$"):
        status.read(tmp_path)


@pytest.mark.slow
def test_the_command_says_it_and_tries_failed_runs_again(folder):
    done = call("status", folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "x: 4 runs: 2 done, 0 running, 1 failed, 1 left"
    assert " ".join(lines[2].split()) == f"failed {GROUP.runs[2].run_id} rope seed 2: no room"
    assert lines[-1] == "no process is training it: about 10 seconds with 1 worker"
    done = call("status", folder, "--retry_failed", "--workers=1")
    assert (done.returncode, done.stderr) == (0, "")
    assert [
        r["status"]
        for r in map(records.read, (records.path_of(folder, run.run_id) for run in GROUP.runs[:3]))
    ] == [
        "finished",
        "diverged",
        "finished",
    ]
    assert states(status.read(folder))[3] == ("left", "")


@pytest.mark.slow
def test_without_a_study_or_with_no_such_study_the_command_says_so():
    for arguments, sentence in (
        ((), "pe-lab status needs STUDY: name, folder or config file of a study."),
        (
            ["nowhere"],
            "The list of studies in results and results/published has no 'nowhere'",
        ),
    ):
        assert refused("status", *arguments).startswith(sentence)


def test_failed_runs_that_the_study_no_longer_has_are_not_tried_again(folder):
    records.write(folder, run_records.blank(tiny.run("rope", seed=9)))
    launcher = Ends()
    sweep.retry(folder, launcher)
    assert launcher.run_ids == [GROUP.runs[2].run_id]


def test_a_failed_run_continues_with_the_group_that_it_began_with(folder):
    (folder / "checkpoints" / GROUP.group_id / "4").mkdir(parents=True)
    launcher = Ends()
    sweep.retry(folder, launcher)
    assert launcher.run_ids == [run.run_id for run in GROUP.runs]


def test_a_damaged_record_does_not_stop_a_retry_and_its_run_trains_with_its_group(folder):
    """The group has a failed run, and a run whose record is damaged."""
    (folder / "checkpoints" / GROUP.group_id / "4").mkdir(parents=True)
    damaged = records.path_of(folder, GROUP.runs[0].run_id)
    damaged.write_text("{", encoding="utf-8")
    launcher = Ends()
    sweep.retry(folder, launcher)
    assert launcher.run_ids == [run.run_id for run in GROUP.runs]
    assert records.read(damaged)["status"] == "failed"  # what this launcher leaves
    assert damaged.with_name(f"{damaged.name}.damaged-1").read_text() == "{"


def runs(**counts):
    return tuple(
        status.RunStatus(f"{state}{i}", "rope", state)
        for state, count in counts.items()
        for i in range(count)
    )


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (status.Status("x", runs(done=3), 0, 0.0, None), "finished"),
        (
            status.Status("x", runs(done=3, failed=1), 0, 0.0, None),
            "finished, except for the failed runs; --retry-failed trains them again",
        ),
        (
            status.Status("x", runs(done=3, left=5), 0, 600.0, None),
            "no process is training it: about 5.0 minutes with 2 workers",
        ),
        (status.Status("x", runs(left=5), 0, None, None), "no process is training it"),
        (status.Status("x", runs(running=1), 1, 60.0, None), "1 group is being trained, about 60"),
    ],
)
def test_the_last_line_says_whether_a_study_is_finished_and_the_time_of_its_workers(found, line):
    *_, last = command.lines(found, 2)
    assert last.startswith(line)
