"""A process that trains cells one after the other, each in a fork of itself: what all of them
import is imported once.

    python -m pe_lab.training.worker

It reads orders from stdin, one JSON list [cell file, folder, log] a line, until there are no more.
A fork is a process of its own, so one that dies takes nothing with it. On stdout come {"worker":
pid} when it begins, what the cell reports, and at the end {"worker": pid, "status": ...}.
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

Train = Callable[[Path, Path], int]  # a cell's file and the study's folder, to an exit status


def serve(train: Train) -> None:
    """Takes orders until stdin ends, or nobody listens any more."""
    warnings.filterwarnings(
        "ignore", "os.fork", RuntimeWarning
    )  # JAX has begun no thread before it is first used
    running: list[int] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the forks too
    signal.signal(signal.SIGTERM, lambda number, frame: _pass_on(running))
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin:
            running.append(_fork(train, *map(Path, json.loads(line))))
            _say({"worker": running[0]})
            status = os.waitpid(running[0], 0)[1]
            _say({"worker": running.pop(), "status": os.waitstatus_to_exitcode(status)})


def _pass_on(running: list[int]) -> None:
    for child in running:
        os.kill(child, signal.SIGTERM)


def _fork(train: Train, cell_file: Path, folder: Path, log: Path) -> int:
    """The fork's process id; the fork itself trains, and never returns."""
    if child := os.fork():
        return child
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), 2)
        status = train(cell_file, folder)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _say(event: dict[str, int]) -> None:
    print(
        "\n" + json.dumps(event), flush=True
    )  # on a line of its own, whatever the fork has printed


def main() -> None:
    from pe_lab.training import cell  # not before: who only serves something else needs no JAX

    serve(lambda cell_file, folder: cell.main(cell_file, folder, cell.asked_to_leave()))


if __name__ == "__main__":
    main()
