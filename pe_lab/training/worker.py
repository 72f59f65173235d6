"""A process that trains run groups one after the other, each in a fork of itself.

    python -m pe_lab.training.worker

The modules that all forks need are imported once. Requests come on stdin, one JSON list
[run group file, folder, log] a line, until stdin closes. A fork that dies takes nothing with it.
On stdout come {"worker": pid} when a fork begins, the events of its training, and at the end
{"worker": pid, "status": ...}.
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

Train = Callable[[Path, Path], int]  # the run group's file and the study's folder -> exit status


def serve(train: Train) -> None:
    """Serve requests until stdin or stdout closes."""
    # JAX starts no thread before it is first used, so a fork is safe.
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
    running: list[int] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the forks too
    signal.signal(signal.SIGTERM, lambda number, frame: _pass_on(running))
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin:
            group_file, folder, log = map(Path, json.loads(line))
            child = _fork(train, group_file, folder, log)
            running.append(child)
            _print({"worker": child})
            _, status = os.waitpid(child, 0)
            running.remove(child)
            _print({"worker": child, "status": os.waitstatus_to_exitcode(status)})


def _pass_on(running: list[int]) -> None:
    for child in running:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(child, signal.SIGTERM)


def _fork(train: Train, group_file: Path, folder: Path, log: Path) -> int:
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
        os.dup2(errors, 2)  # stderr
        status = train(group_file, folder)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _print(event: dict[str, int]) -> None:
    # The fork may have printed an unfinished line.
    print("\n" + json.dumps(event), flush=True)


def main() -> None:
    # Imported here: a worker that serves another function needs no JAX.
    from pe_lab.training import process

    def train(group_file: Path, folder: Path) -> int:
        return process.main(group_file, folder, process.preemption_signal())

    serve(train)


if __name__ == "__main__":
    main()
