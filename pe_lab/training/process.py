"""The process that trains one run group.

python -m pe_lab.training.process GROUP.json FOLDER  # started by a launcher; prints JSON events
"""

import contextlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from pe_lab.runs import locks, records, run_group_files
from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.evaluation_points import is_done
from pe_lab.runs.run import RunGroup
from pe_lab.training import run_records
from pe_lab.training.loop import Event, Preempted, Report, train_run_group

_PROGRESS_INTERVAL = 2.0  # seconds between two writes of progress


def main(
    group_file: Path,
    folder: Path,
    should_leave: Callable[[], bool] = lambda: False,
) -> int:
    """Train a run group in this process.

    Events go to stdout; the latest values are also in a file of folder/progress.

    Args:
      folder: the study's.
      should_leave: True saves the state and ends the training.

    Returns:
      The exit status: 0; 1 if it failed; locks.LATER if another process trains it or it was
      preempted.
    """
    with locks.held(group_file.with_suffix(".lock")) as is_ours:
        if not is_ours:
            return locks.LATER
        return _train(group_file, folder, should_leave)


def _train(group_file: Path, folder: Path, should_leave: Callable[[], bool]) -> int:
    report = _reporter(folder / "progress" / group_file.name)
    try:
        group = run_group_files.read(group_file)
        if not _all_done(group, folder):  # another sweep may have finished it
            train_run_group(group, folder, report, should_leave)
    except Preempted:
        return locks.LATER
    except BrokenPipeError:
        # The sweep that started this process has ended; the next one resumes from the checkpoint.
        # Python must not flush into the closed pipe at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        return 1
    except Exception as e:  # recorded, so that the other run groups go on
        error = one_line(e)
        if not isinstance(e, UserError):
            traceback.print_exc()
            error = f"{type(e).__name__}: {error}"
        report({"event": "failed", "error": error})
        _write_failures(group_file, folder, error)
        return 1
    return 0


def _write_failures(group_file: Path, folder: Path, error: str) -> None:
    """Record that the runs of a group failed; stderr names those without a new record."""
    try:
        # Unchecked: a run whose encoding cannot be imported on this machine has a record too.
        runs = run_group_files.unchecked_runs(group_file)
    except (OSError, ValueError, KeyError, TypeError) as e:
        print(f"not recorded: {group_file} cannot be read: {one_line(e)}", file=sys.stderr)
        return
    for run in runs:
        try:
            run_records.write_failure(run, folder, error)
        except Exception as e:  # its record is damaged, perhaps; the other runs need theirs
            print(f"not recorded: {run.run_id}: {one_line(e)}", file=sys.stderr)


def _all_done(group: RunGroup, folder: Path) -> bool:
    present = {}
    for run in group.runs:
        path = records.path_of(folder, run.run_id)
        if path.exists():
            present[run.run_id] = records.read(path)
    return all(is_done(run, present) for run in group.runs)


def _reporter(file: Path) -> Report:
    """A function that prints each event as a line and writes the latest values to a file."""
    latest: dict[str, object] = {}
    written_at = 0.0

    def report(event: Event) -> None:
        nonlocal written_at
        print(json.dumps(event), flush=True)
        latest.update(event)
        now = time.monotonic()
        is_due = now - written_at >= _PROGRESS_INTERVAL
        if event["event"] != "progress" or is_due:
            with contextlib.suppress(OSError):  # a full disk is reported with the record
                records.write_json(file, latest | {"time": time.time()})
            written_at = now

    return report


def preemption_signal() -> Callable[[], bool]:
    """A function that is True after SIGTERM or SIGINT; a second one ends the process at once."""
    received = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        received.set()
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    return received.is_set


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), preemption_signal()))
