"""A fault at each write of a small sweep: no wrong number, and the same command goes on.

The writes are those of pe_lab.runs.system.files, and the checkpoints that orbax saves, as a whole.
Outside are single writes inside of orbax, the removal of checkpoints, locks, logs, the cache of
compiled programs, prepared texts, and report pages.
"""

import contextlib
import errno
import functools
import itertools
import os

import pytest
from orbax.checkpoint import v1 as ocp

from pe_lab.contrib.integrity import integrity
from pe_lab.results import frame, plots, tables
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.system import files
from pe_lab.sweeps import plans, status, study, sweep
from pe_lab.sweeps.launchers.base import Launcher
from pe_lab.training import checkpoint, process
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


class FaultySaves:
    """The function `save` of orbax, of which one call fails, before it or after it.

    After it, the remains of a save that was killed are there too.
    """

    def __init__(self, call, is_after, error):
        self.call, self.is_after, self.error = call, is_after, error
        self.num_calls = 0

    def __call__(self, save, path, *args, **kwargs):
        fails = self.num_calls == self.call
        self.num_calls += 1
        if not fails or self.is_after:
            save(path, *args, **kwargs)
        if fails:
            path.with_name(f"{path.name}.orbax-checkpoint-tmp-1").mkdir(parents=True)
            raise self.error


class InThisProcess(Launcher):
    """Trains run groups one after the other, without another process."""

    def launch(self, group_files, folder, on_event):
        statuses = {}
        for file in group_files:
            statuses[file.stem] = process.main(file, folder, report=lambda event: None)
            on_event(file.stem, {"event": "ended", "status": statuses[file.stem]})
        return statuses


def complete(folder, values=VALUES):
    """What `pe-lab sweep` does; the failures."""
    expanded = study.expand("tiny", values, [{}], folder)
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
        check_state(folder, unbroken)
        assert complete(folder) == {}
        check_complete(folder, unbroken)
        if faulty.num_writes <= write:
            break  # no write was left to fail


def test_a_fault_at_any_save_of_a_checkpoint_loses_nothing(tmp_path, monkeypatch):
    """Two points of the curve and the last step."""
    values = tiny.values(train__steps=4, evaluate__curve_every=4, model__num_layers=1, seed=0)
    values["checkpoints"] |= {"keep_curve": True, "keep_final": True}
    unbroken = tmp_path / "unbroken"
    assert complete(unbroken, values) == {}
    saved = checkpoints(unbroken)
    assert len(saved) == 3
    for call, is_after in ((0, True), (1, False), (2, False), (2, True)):
        folder = tmp_path / f"{call} {is_after}"
        error = Killed() if is_after else OSError(errno.ENOSPC, "No space left")
        faulty = FaultySaves(call, is_after, error)
        with monkeypatch.context() as patch:
            patch.setattr(ocp, "save", functools.partial(faulty, ocp.save))
            with contextlib.suppress(Killed):
                complete(folder, values)
        assert faulty.num_calls == call + 1
        check_state(folder, unbroken)
        assert complete(folder, values) == {}
        check_complete(folder, unbroken)
        assert checkpoints(folder) == saved


def test_a_fault_at_any_write_of_a_picture_leaves_whole_pictures(tmp_path, monkeypatch):
    assert complete(tmp_path) == {}
    results = frame.read(tmp_path)
    for write in itertools.count():
        out = tmp_path / str(write)
        error = Killed() if write % 2 else OSError(errno.ENOSPC, "No space left")
        faulty = Faulty(write, STAGES[write % len(STAGES)], error)
        with monkeypatch.context() as patch:
            patch.setattr(files, "os", faulty)
            with contextlib.suppress(OSError, Killed):
                plots.write(results, out)
        if faulty.num_writes <= write:
            break  # no write was left to fail
    whole = {path.name: path.read_bytes() for path in out.iterdir()}
    assert len(whole) == write > 0
    for earlier in range(write):
        present = {path.name: path.read_bytes() for path in (tmp_path / str(earlier)).iterdir()}
        assert len(present) == earlier
        assert present.items() <= whole.items()


def check_state(folder, unbroken):
    """Nothing is damaged after a fault, and what is finished has its values."""
    assert list(integrity.problems(folder)) in ([], [missing(folder)])
    present = records.read_all(folder) if records.exist(folder) else {}
    finished = {run_id for run_id, r in present.items() if r["status"] == "finished"}
    if finished:
        assert measured(folder) == measured(unbroken)
    if (folder / "study.json").exists():
        progress = status.read(folder)
        assert (progress.count("done"), progress.workers) == (len(finished), 0)


def check_complete(folder, unbroken):
    """A sweep after a fault has the values and tables of one without, and leaves no remains."""
    assert measured(folder) == measured(unbroken)
    assert texts(folder) == texts(unbroken)
    assert not [path for path in folder.rglob(".*") if path.suffix.isdigit()]


def checkpoints(folder):
    groups = folder.glob("checkpoints/*")
    paths = [path for group in groups for path in checkpoint.paths(group)]
    assert not list(folder.rglob("*.orbax-checkpoint-tmp*"))
    return sorted(str(path.relative_to(folder)) for path in paths)


def missing(folder):
    return f"There is no study in {folder}: {folder / 'study.json'} is missing."
