"""A fault at each write of a small sweep: no wrong number, and the same command goes on."""

import contextlib
import errno
import itertools
import os

import pytest

from pe_lab.contrib.integrity import integrity
from pe_lab.results import frame, tables
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.system import files
from pe_lab.sweeps import plans, status, study, sweep
from pe_lab.sweeps.launchers.base import Launcher
from pe_lab.training import process
from tests import tiny
from tests.record_values import measured

pytestmark = pytest.mark.full
VALUES = tiny.values(train__steps=4, evaluate__curve_every=4, model__num_layers=1, seed=0)
STAGES = ("open", "fsync", "replace")


class Killed(BaseException):
    """Ends the sweep at once, as a kill does."""


class Faulty:
    """The module `os` for pe_lab.runs.system.files, of which one write fails.

    Args:
      write: the index of the write; None: none fails.
      stage: the call of this write that fails.
    """

    def __init__(self, write, stage, error):
        self.write, self.stage, self.error = write, stage, error
        self.num_writes = 0

    def __getattr__(self, name):
        function = getattr(os, name)
        return function if name not in STAGES else lambda *args: self._call(name, function, args)

    def _call(self, name, function, args):
        if name == "open" and not args[1] & os.O_CREAT:
            return function(*args)
        self.num_writes += name == "open"
        if self.num_writes - 1 == self.write and name == self.stage:
            raise self.error
        return function(*args)


class InThisProcess(Launcher):
    """Trains run groups one after the other, without another process."""

    def launch(self, group_files, folder, on_event):
        statuses = {}
        for file in group_files:
            statuses[file.stem] = process.main(file, folder, report=lambda event: None)
            on_event(file.stem, {"event": "ended", "status": statuses[file.stem]})
        return statuses


def complete(folder):
    """What `pe-lab sweep` does; the failures."""
    expanded = study.expand("tiny", VALUES, [{}], folder)
    failures = sweep.run(plans.make(expanded, folder), InThisProcess())
    tables.write(frame.read(folder), folder)
    return failures


def texts(folder):
    return {path.name: path.read_text() for path in folder.glob("table.*")}


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), Killed()], ids=repr)
def test_a_fault_at_any_write_loses_nothing(tmp_path, monkeypatch, error):
    unbroken = tmp_path / "unbroken"
    assert complete(unbroken) == {}
    for write in itertools.count():
        folder = tmp_path / str(write)
        faulty = Faulty(write, STAGES[write % len(STAGES)], error)
        with monkeypatch.context() as patch:
            patch.setattr(files, "os", faulty)
            with contextlib.suppress(OSError, UserError, Killed):
                complete(folder)
        assert list(integrity.problems(folder)) in ([], [missing(folder)])
        present = records.read_all(folder) if records.exist(folder) else {}
        finished = {run_id for run_id, r in present.items() if r["status"] == "finished"}
        if finished:
            assert measured(folder) == measured(unbroken)
        if (folder / "study.json").exists():
            progress = status.read(folder)
            assert (progress.count("done"), progress.workers) == (len(finished), 0)
        assert complete(folder) == {}
        assert measured(folder) == measured(unbroken)
        assert texts(folder) == texts(unbroken)
        assert not [path for path in folder.rglob(".*") if path.suffix.isdigit()]
        if faulty.num_writes <= write:
            break  # no write was left to fail


def missing(folder):
    return f"There is no study in {folder}: {folder / 'study.json'} is missing."
