"""A run group that diverges or fails leaves a record of it."""

import dataclasses
import json
import re
import sys

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.run import RunGroup
from pe_lab.runs.system import locks
from pe_lab.training import process, reports
from pe_lab.training.loop import train_run_group
from pe_lab.training.run_records import blank, write_failure
from tests import tiny
from tests.training.group_records import by_seed


@pytest.mark.slow
def test_a_diverged_member_is_recorded_and_the_others_finish(tmp_path):
    runs = tiny.group("rope").runs
    wild = dataclasses.replace(
        runs[1], train=dataclasses.replace(runs[1].train, learning_rate=1e30)
    )
    train_run_group(RunGroup((runs[0], wild)), tmp_path)
    found = by_seed(tmp_path)
    assert (found[0]["status"], found[1]["status"]) == ("finished", "diverged")
    assert found[1]["error"].startswith("the loss or its gradient was not finite at step ")
    assert found[1]["rows"] == []


@pytest.mark.slow
def test_a_group_whose_members_all_diverged_ends_early(tmp_path):
    """A diverged run has the steps and the curve that it has beside a run that goes on."""
    group = tiny.group("rope", seeds=1, train__learning_rate=1e30)
    train_run_group(group, tmp_path / "alone")
    alone = by_seed(tmp_path / "alone")[0]
    assert alone["status"] == "diverged"
    assert alone["error"].endswith(f"at step {alone['cost']['steps']}")
    assert alone["cost"]["steps"] < group.run.train.steps
    (healthy,) = tiny.group("rope", seeds=1).runs
    healthy = dataclasses.replace(healthy, seed=1)
    train_run_group(RunGroup((*group.runs, healthy)), tmp_path / "both")
    beside = by_seed(tmp_path / "both")[0]
    for key in ("curve", "exposure"):
        assert beside[key] == alone[key]
    for key in ("steps", "train_flops"):
        assert beside["cost"][key] == alone["cost"][key]


def test_an_exit_in_a_plugin_is_the_recorded_error_and_a_finished_run_keeps_its_record(
    tmp_path, monkeypatch, capsys
):
    group = tiny.group("rope", seeds=2)
    records.write_json(tmp_path / "group.json", {"runs": [r.to_dict() for r in group.runs]})
    records.write(tmp_path, blank(group.runs[0]) | {"status": "finished"})

    def train(*_):
        raise SystemExit(3)

    monkeypatch.setattr(process, "train_run_group", train)
    monkeypatch.setattr(process, "is_done", lambda *_: False)
    assert process.main(tmp_path / "group.json", tmp_path) == 1
    runs = by_seed(tmp_path)
    assert (runs[0]["status"], runs[1]["error"]) == ("finished", "SystemExit: 3")
    assert f"{group.runs[0].run_id}, which has finished: SystemExit: 3" in capsys.readouterr().err


def test_a_mistake_of_a_user_that_a_callback_found_is_recorded_as_a_sentence(tmp_path, monkeypatch):
    group = tiny.group("rope", seeds=1)
    records.write_json(tmp_path / "group.json", {"runs": [r.to_dict() for r in group.runs]})

    def train(*_):
        raise ValueError(
            "INTERNAL: error calling callback: Traceback (most recent call last):\n"
            '  File "a.py", line 4, in f\nUserError: Wrong.\nUserError: The text is gone.'
        )

    monkeypatch.setattr(process, "train_run_group", train)
    assert process.main(tmp_path / "group.json", tmp_path) == 1
    assert by_seed(tmp_path)[0]["error"] == "The text is gone."


def test_an_unforeseen_error_is_recorded_with_its_type(tmp_path, monkeypatch, capsys):
    group = tiny.group("rope", seeds=1)
    records.write_json(tmp_path / "group.json", {"runs": [r.to_dict() for r in group.runs]})
    monkeypatch.setattr(process, "train_run_group", lambda *a: 1 / 0)
    assert process.main(tmp_path / "group.json", tmp_path) == 1
    assert by_seed(tmp_path)[0]["error"] == "ZeroDivisionError: division by zero"
    assert json.loads(capsys.readouterr().out)["event"] == "failed"


class WithoutTextError(Exception):
    def __str__(self):
        raise RuntimeError("no text either")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BrokenPipeError(32, "Broken pipe"), r"BrokenPipeError: \[Errno 32\] Broken pipe"),
        (WithoutTextError(), r"WithoutTextError in test_failed_groups\.py, line \d+"),
    ],
)
def test_an_error_of_a_plugin_is_recorded_whatever_it_is(tmp_path, monkeypatch, error, reason):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(process, "train_run_group", fail)
    events = []
    file = run_group_files.write(tiny.group("rope", seeds=1), tmp_path)
    assert process.main(file, tmp_path, report=events.append) == 1
    recorded = by_seed(tmp_path)[0]["error"]
    assert re.fullmatch(reason, recorded)
    assert events == [{"event": "failed", "error": recorded}]


def test_a_failure_is_recorded_also_if_nobody_reads_its_report(tmp_path, monkeypatch):
    def unread(event):
        raise reports.ReaderIsGone

    monkeypatch.setattr(process, "train_run_group", lambda *a: 1 / 0)
    file = run_group_files.write(tiny.group("rope", seeds=1), tmp_path)
    assert process.main(file, tmp_path, report=unread) == 1
    assert by_seed(tmp_path)[0]["error"] == "ZeroDivisionError: division by zero"


def test_a_group_whose_encoding_cannot_be_imported_here_is_recorded_as_failed(
    tmp_path, monkeypatch
):
    module = tmp_path / "elsewhere_only.py"
    module.write_text("from pe_lab.encodings.alibi import ALiBi\n\nclass Mine(ALiBi):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    file = run_group_files.write(tiny.group("elsewhere_only:Mine"), tmp_path)
    module.unlink()
    monkeypatch.delitem(sys.modules, "elsewhere_only")
    assert process.main(file, tmp_path) == 1
    for seed in (0, 1):
        record = by_seed(tmp_path)[seed]
        assert record["error"].startswith("'elsewhere_only:Mine' cannot be imported: ")
        assert record["provenance"]["sources"]["encodings/elsewhere_only:Mine"] is None


def test_a_damaged_record_of_one_member_is_the_recorded_failure_of_the_others(tmp_path, capsys):
    group = tiny.group("rope")
    damaged = records.path_of(tmp_path, group.runs[0].run_id)
    damaged.parent.mkdir()
    damaged.write_text("{")
    assert process.main(run_group_files.write(group, tmp_path), tmp_path) == 1
    other = records.read(records.path_of(tmp_path, group.runs[1].run_id))
    assert (other["status"], str(damaged) in other["error"]) == ("failed", True)
    assert capsys.readouterr().err.startswith(f"not recorded: {group.runs[0].run_id}: ")


def test_a_damaged_file_of_a_run_group_is_one_sentence(tmp_path, capsys):
    file = tmp_path / "group.json"
    file.write_text("{")
    assert process.main(file, tmp_path) == 1
    assert f"not recorded: {file} cannot be read: " in capsys.readouterr().err


@pytest.mark.slow
def test_a_group_that_another_process_is_at_or_has_finished_is_left_alone(tmp_path, monkeypatch):
    group = tiny.group("rope", seeds=1, model__num_layers=1)
    file = tmp_path / "group.json"
    records.write_json(file, {"runs": [r.to_dict() for r in group.runs]})
    events = []
    with locks.held(tmp_path / "group.lock"):
        assert process.main(file, tmp_path, report=events.append) == locks.LATER
    assert events == [{"event": "elsewhere"}]
    assert not by_seed(tmp_path)
    train_run_group(group, tmp_path)
    monkeypatch.setattr(process, "train_run_group", lambda *a: 1 / 0)
    assert process.main(file, tmp_path) == 0
    assert by_seed(tmp_path)[0]["status"] == "finished"


@pytest.mark.slow
def test_a_failure_never_replaces_a_result(tmp_path):
    group = tiny.group("rope", seeds=1)
    train_run_group(group, tmp_path)
    write_failure(group.run, tmp_path, "lost its worker")
    assert by_seed(tmp_path)[0]["status"] == "finished"


def test_what_cannot_be_built_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UserError, match="must be even, got 3"):
        train_run_group(tiny.group("rope", model__width=6), tmp_path)
    assert list(tmp_path.iterdir()) == []
