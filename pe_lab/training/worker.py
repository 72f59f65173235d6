"""A process that trains run groups one after the other, each in a fork of itself.

    python -m pe_lab.training.worker

The modules that all forks need are imported once. Requests come on stdin, one JSON list
[run group file, folder, log] a line, until stdin closes. A fork that dies takes nothing with it.
Reports come on stdout, one JSON object a line, and nothing else is printed there:

    {"worker": pid}                   when a fork begins
    {"event": ..., ...}               the events of its training
    {"returned": status}              by the fork, at its end. A fork that a plugin has ended with
                                      an exit status of its own does not report this.
    {"worker": pid, "ended": status}  by the worker, when the fork has ended
"""

import contextlib
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from pe_lab.training import reports
from pe_lab.training.reports import Report

# The run group's file, the study's folder and a function for its events -> the exit status.
Train = Callable[[Path, Path, Report], int]


def serve(train: Train) -> None:
    """Serve requests until stdin or stdout closes."""
    # JAX starts no thread before it is first used, so a fork is safe.
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
    running: list[int] = []
    stdout = reports.claim_stdout()
    report = reports.to(stdout)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the forks too
    signal.signal(signal.SIGTERM, lambda number, frame: _pass_on(running))
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin:
            group_file, folder, log = map(Path, json.loads(line))
            child = _fork(train, group_file, folder, log, report)
            running.append(child)
            report({"worker": child})
            _, status = os.waitpid(child, 0)
            running.remove(child)
            stdout.write("\n")  # a killed fork may have left its last line unfinished
            report({"worker": child, "ended": os.waitstatus_to_exitcode(status)})


def _pass_on(running: list[int]) -> None:
    for child in running:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(child, signal.SIGTERM)


def _fork(train: Train, group_file: Path, folder: Path, log: Path, report: Report) -> int:
    """The fork's process id. The fork itself trains and never returns."""
    child = os.fork()
    if child:  # 0 in the fork itself
        return child
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        no_input = os.open(os.devnull, os.O_RDONLY)
        errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(no_input, 0)  # stdin
        os.dup2(errors, 1)  # stdout, for what a plugin prints
        os.dup2(errors, 2)  # stderr
        status = train(group_file, folder, report)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
            report({"returned": status})
        os._exit(status)


def main() -> None:
    # Imported here: a worker that serves another function needs no JAX.
    from pe_lab.training import process

    def train(group_file: Path, folder: Path, report: Report) -> int:
        return process.main(group_file, folder, process.preemption_signal(), report)

    serve(train)


if __name__ == "__main__":
    main()
