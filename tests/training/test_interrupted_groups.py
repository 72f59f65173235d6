"""A run group that was killed or asked to leave continues where it was."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.system import locks
from pe_lab.training import checkpoint, process
from pe_lab.training.loop import Training, train_run_group
from tests import tiny
from tests.training.group_records import by_seed


def measured(record):
    """What must not depend on how a record came about."""
    return {
        k: record[k]
        for k in (
            "run_id",
            "config",
            "status",
            "rows",
            "chance_levels",
            "curve",
            "exposure",
            "scale_ratio",
        )
    }


GROUP = tiny.group(
    "learned", "t5_bias", train__steps=60, checkpoints__interval=0.0, execution__members="map"
)
SELDOM = tiny.group(
    "learned", "t5_bias", train__steps=60, checkpoints__interval=1e6, execution__members="map"
)


def start(folder, group=GROUP):
    file = folder / "group.json"
    records.write_json(file, {"runs": [run.to_dict() for run in group.runs]})
    command = [sys.executable, "-m", "pe_lab.training.process", str(file), str(folder)]
    import_path = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(import_path)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )


@pytest.mark.slow
def test_a_training_killed_in_mid_run_ends_bit_equal_to_an_unbroken_one(tmp_path):
    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    with start(broken) as process:
        for line in process.stdout:
            if json.loads(line).get("step", 0) >= 20:
                break
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not list((broken / "records").glob("*.json"))
    with start(broken) as process:
        events = [json.loads(line) for line in process.stdout]
    assert process.returncode == 0
    assert events[0]["event"] == "resumed"
    assert 16 <= events[0]["step"] < 60
    train_run_group(GROUP, unbroken)
    for seed in (0, 1):
        assert measured(by_seed(broken)[seed]) == measured(by_seed(unbroken)[seed])
    states = [Training(GROUP, folder, print).state for folder in (broken, unbroken)]
    jax.tree.map(np.testing.assert_array_equal, *states)
    assert int(states[0].step[0]) == 60


@pytest.mark.slow
def test_a_worker_whose_sweep_is_gone_stops_and_records_no_failure(tmp_path):
    with start(tmp_path) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
    assert not list((tmp_path / "records").glob("*.json"))


@pytest.mark.slow
def test_a_damaged_checkpoint_is_set_aside_with_a_sentence_and_its_runs_trained_again(
    tmp_path, capsys
):
    group = tiny.group("rope", seeds=1)
    folder = tmp_path / "checkpoints" / group.group_id
    checkpoint.save(folder, 4, {"params": jnp.zeros(3)}, {})
    records.write_json(tmp_path / "group.json", {"runs": [r.to_dict() for r in group.runs]})
    assert process.main(tmp_path / "group.json", tmp_path) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [e["why"].rpartition(" (")[2] for e in said if e["event"] == "damaged"] == [
        "its arrays have other names, shapes or types); it is set aside as 4.damaged-1, and "
        "the checkpoint before it, if there is one, is used."
    ]
    assert by_seed(tmp_path)[0]["status"] == "finished"
    assert sorted(p.name for p in folder.iterdir()) == ["12", "4.damaged-1"]


@pytest.mark.slow
def test_a_finished_run_without_its_checkpoint_is_not_trained_again_for_a_new_length(tmp_path):
    train_run_group(tiny.group("rope", seeds=1), tmp_path)
    before = by_seed(tmp_path)[0]
    more = tiny.group("rope", seeds=1, evaluate__lengths=(2, 3, 5, 6))
    assert more.run.run_id == before["run_id"]
    shutil.rmtree(tmp_path / "checkpoints")
    with pytest.raises(UserError, match=r"has finished and lacks evaluations .* damaged or gone"):
        train_run_group(more, tmp_path)
    assert by_seed(tmp_path)[0] == before


@pytest.mark.slow
def test_a_training_that_is_asked_to_leave_saves_and_goes_on_to_the_same_end(tmp_path):
    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    with start(broken, SELDOM) as process:
        for line in process.stdout:
            if json.loads(line).get("step", 0) >= 12:
                process.send_signal(signal.SIGTERM)
                break
        rest = process.stdout.read()
    assert process.returncode == locks.LATER
    assert (broken / "group.later").exists()
    last = json.loads(rest.splitlines()[-1])["step"] if rest else 12
    assert last < 60
    progress = json.loads((broken / "progress" / "group.json").read_text())
    assert {"step", "loss", "steps_per_second", "time"} <= progress.keys()
    with start(broken, SELDOM) as process:
        events = [json.loads(line) for line in process.stdout]
    assert process.returncode == 0
    assert events[0] == {
        "event": "resumed",
        "step": last,
    }  # saved where it left, long before its checkpoints were due
    train_run_group(SELDOM, unbroken)
    assert measured(by_seed(broken)[0]) == measured(by_seed(unbroken)[0])


@pytest.mark.slow
def test_only_the_process_itself_marks_that_it_is_to_be_started_again(tmp_path, monkeypatch):
    """A plugin ends the process with the status of a preempted one, and leaves no mark."""
    mark = tmp_path / "group.later"
    with locks.held(tmp_path / "group.lock"), start(tmp_path) as process:
        process.communicate()
    assert (process.returncode, mark.exists()) == (locks.LATER, True)
    module = tmp_path / "exits.py"
    module.write_text("from pe_lab.encodings.alibi import ALiBi\n\nclass Mine(ALiBi):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    group = tiny.group("exits:Mine")
    module.write_text(f"import os\n\nos._exit({locks.LATER})\n")
    with start(tmp_path, group) as process:
        process.communicate()
    assert (process.returncode, mark.exists()) == (locks.LATER, False)


def test_a_mark_is_not_written_through_a_link(tmp_path, monkeypatch):
    file, target = tmp_path / "group.json", tmp_path / "mine"
    monkeypatch.setattr(process.reports, "claim_stdout", lambda: sys.stdout)
    monkeypatch.setattr(process.reports, "to", lambda file: None)

    def end_later(*_):
        file.with_suffix(".later").symlink_to(target)
        return locks.LATER

    monkeypatch.setattr(process, "main", end_later)
    with pytest.raises(OSError, match="symbolic links"):
        process.run_alone(file, tmp_path)
    assert not target.exists()
