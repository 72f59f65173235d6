"""The process that trains one run group.

python -P -m pe_lab.training.process GROUP.json FOLDER  # prints JSON events, and nothing else

What a plugin prints goes to stderr. A process that must be started again later ends with
locks.LATER and leaves a mark, GROUP.later. The same status without the mark is a failure.

A sweep on this machine starts `run_in_sweep` instead, which reports to a pipe.
"""

# Before all other imports, because the order of folders decides what they import.
if __name__ == "__main__":
    from pe_lab import import_path

    import_path.order_folders()

import contextlib
import faulthandler
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import NoReturn

from pe_lab.runs.errors import described, one_line, user_error
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.records.evaluation_points import is_done
from pe_lab.runs.system import files, jax_settings, locks, terminal
from pe_lab.training import devices, reports, run_records
from pe_lab.training.loop import Preempted, train_run_group
from pe_lab.training.reports import Event, Report

_PROGRESS_INTERVAL = 2.0  # seconds between two writes of progress
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

# The run group's file, the study's folder, whether to save and leave, and a function for events ->
# the exit status.
Train = Callable[[Path, Path, Callable[[], bool], Report], int]


def main(
    group_file: Path,
    folder: Path,
    should_leave: Callable[[], bool] = lambda: False,
    report: Report = reports.printed,
) -> int:
    """Train a run group in this process.

    The latest values of all events are also in a file of folder/progress. A run group that takes
    longer than its execution.time_limit ends this process by SIGALRM.

    Args:
      folder: the study's.
      should_leave: True saves the state and ends the training.
      report: receives each event.

    Returns:
      The exit status: 0; 1 if it failed; locks.LATER if another process trains it or it was
      preempted.
    """
    terminal.replace_unencodable()  # a plugin may print anything
    with locks.held(run_group_files.lock_of(group_file)) as is_ours:
        if not is_ours:  # said here, because the lock may be free when this process has ended
            report({"event": "elsewhere"})
            return locks.LATER
        progress = run_group_files.progress_path(folder, group_file.stem)
        all_reports = _with_progress(report, progress)
        return _train(group_file, folder, should_leave, all_reports)


def _train(group_file: Path, folder: Path, should_leave: Callable[[], bool], report: Report) -> int:
    try:
        # Unchecked: the import of a plugin may hang too.
        limit = run_group_files.unchecked_runs(group_file)[0].execution.time_limit
        with _time_limit(limit):
            jax_settings.bind()
            group = run_group_files.read(group_file)
            devices.use_compilation_cache(group.run.execution.compilation_cache)
            devices.compute_float32_products()
            # Another sweep may have finished it. A damaged record of any run ends the group here.
            present = [records.read_run(folder, run.run_id) for run in group.runs]
            if not all(map(is_done, group.runs, present)):
                train_run_group(group, folder, report, should_leave)
    except Preempted:
        return locks.LATER
    except reports.ReaderIsGone:
        # The sweep that started this process has ended; the next one resumes from the checkpoint.
        return 1
    except (Exception, SystemExit) as e:  # recorded, so that the other run groups go on
        mistake = user_error(e)
        if mistake is not None:
            error = one_line(mistake)
        else:
            with contextlib.suppress(Exception):  # a plugin may have closed stderr
                traceback.print_exc()
            error = devices.unusable() or described(e)
        _write_failures(group_file, folder, error)
        with contextlib.suppress(reports.ReaderIsGone):
            report({"event": "failed", "error": error})
        return 1
    return 0


@contextlib.contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """End this process by SIGALRM if the `with` block takes longer; None: no limit.

    The system ends it, because code that hangs outside of Python runs no handler. Shortly before,
    stderr gets the line at which each thread is.
    """
    if seconds is None:
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(0.9 * seconds, file=2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)


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
            if run_records.finished(folder, run) is not None:  # its record keeps its result
                print(f"{run.run_id}, which has finished: {error}", file=sys.stderr)
            run_records.write_failure(run, folder, error)
        except Exception as e:  # its record is damaged, perhaps; the other runs need theirs
            print(f"not recorded: {run.run_id}: {one_line(e)}", file=sys.stderr)


def _with_progress(report: Report, file: Path) -> Report:
    """A function that reports each event and writes the latest values to a file."""
    latest: dict[str, object] = {}
    written_at = 0.0

    def report_and_write(event: Event) -> None:
        nonlocal written_at
        report(event)
        latest.update(event)
        now = time.monotonic()
        is_due = now - written_at >= _PROGRESS_INTERVAL
        if event["event"] != "progress" or is_due:
            with contextlib.suppress(OSError):  # a full disk is reported with the record
                records.write_json(file, latest | {"time": time.time()})
            written_at = now

    return report_and_write


def preemption_signal() -> Callable[[], bool]:
    """A function that is True after SIGTERM or SIGINT; a second one ends the process at once."""
    received: list[int] = []  # not an Event, whose lock a second signal could find held

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for each in _STOP_SIGNALS:
            signal.signal(each, signal.SIG_DFL)  # a second signal ends the process

    for number in _STOP_SIGNALS:
        signal.signal(number, handle)
    return lambda: bool(received)


def run_in_sweep(
    train: Train,
    group_file: Path,
    folder: Path,
    log: Path,
    connection: Connection,
    environment: Mapping[str, str],
    pin: Callable[[int], None],
) -> NoReturn:
    """Train a run group in a child of a sweep, and end the process.

    Args:
      log: file for the group's errors and prints.
      connection: receives each event as a JSON object, and then {"returned": status}. A process
        that a plugin has ended with an exit status of its own does not report this.
      environment: all variables.
      pin: called with 0; limits this process to some cores.
    """
    report = reports.over(connection)
    status = 1
    try:
        # With it, the sweep can kill what plugins leave behind, such as data loaders.
        os.setpgid(0, 0)
        # O_NOFOLLOW: a log that is a link must not overwrite a file of the user.
        for file, stream in ((os.devnull, 0), (log, 1), (log, 2)):
            os.dup2(os.open(file, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW), stream)
        # The server that forked this process has variables of its own.
        os.environ.clear()
        os.environ.update(environment)
        pin(0)
        should_leave = preemption_signal()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)  # blocked by the sweep until now
        status = train(group_file, folder, should_leave, report)
    except BaseException:  # also SystemExit of a plugin: the sweep needs the status in any case
        traceback.print_exc()
    finally:
        try:
            with contextlib.suppress(Exception):
                report({"returned": status})
            for output in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # a plugin may have closed or replaced it
                    output.flush()
        finally:
            # Threads and processes of plugins, which Python would wait for, end here.
            os._exit(status)


def run_alone(group_file: Path, folder: Path) -> int:
    """Train a run group in a process that no worker watches, and return its exit status."""
    mark = run_group_files.later_mark(group_file)
    mark.unlink(missing_ok=True)  # of an earlier process
    to_stdout = reports.to(reports.claim_stdout())
    status = main(group_file, folder, preemption_signal(), to_stdout)
    if status == locks.LATER:
        files.append_to(mark).close()
    return status


if __name__ == "__main__":
    sys.exit(run_alone(Path(sys.argv[1]), Path(sys.argv[2])))
