"""The process of one run group on this machine, as the sweep sees it."""

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from pe_lab.runs.records import run_group_files
from pe_lab.runs.system import files
from pe_lab.sweeps.launchers.base import TIME_LIMIT, Event, environment
from pe_lab.training import process

# A fork of a server that has imported everything starts at once. A fork of macOS's own libraries
# may fail, so there each process starts afresh.
METHOD: Literal["spawn", "forkserver"] = "spawn" if sys.platform == "darwin" else "forkserver"
_PRELOAD = ["pe_lab.sweeps.launchers.local"]  # and with it pe_lab.training and JAX
_LIMIT_GRACE = 20.0  # seconds after its time limit in which a process may end itself
_SERVER_IS_GONE = 255  # multiprocessing's exit status if the server died before the process ended
_LONGEST_EVENT = 1 << 24  # bytes


@dataclass(frozen=True)
class Task:
    """What a process trains, and how.

    Attributes:
      variables: in addition to this process's environment.
      pin: called with a process id; limits it to some cores.
      train: the function of the process.
    """

    group_file: Path
    folder: Path
    variables: Mapping[str, str]
    pin: Callable[[int], None]
    train: process.Train


class GroupProcess:
    """A process that trains a run group, from its start to its end.

    It leads a process group of its own, so what it has left behind can be killed with it. Ctrl-C
    reaches the sweep alone, which sends SIGTERM.
    """

    def __init__(self, task: Task):
        self.file = task.group_file
        self.is_elsewhere = False  # it found the lock of another sweep
        self._returned: int | None = None  # the status that it reported at its end
        self._is_late = False
        self._log = task.folder / "logs" / f"{self.file.stem}.log"
        files.append_to(self._log, empty=True).close()  # of this try alone
        variables = {**os.environ, **environment(), **task.variables}
        context: Any = multiprocessing.get_context(METHOD)  # typeshed's base class lacks Process
        reader, writer = context.Pipe(duplex=False)
        self._reports: Connection | None = reader
        arguments = (task.train, self.file, task.folder, self._log, writer, variables, task.pin)
        self._process: BaseProcess = context.Process(target=process.run_in_sweep, args=arguments)
        with writer:  # closed here, so the end of this process closes the pipe
            _start(self._process)
        limit = run_group_files.time_limit(self.file)
        self._deadline = None if limit is None else time.monotonic() + limit + _LIMIT_GRACE

    def waitables(self) -> list[int | Connection]:
        """What multiprocessing.connection.wait returns if there is news."""
        sentinel = self._process.sentinel
        return [sentinel] if self._reports is None else [sentinel, self._reports]

    def has_ended(self) -> bool:
        # The end of the pipe says nothing: a plugin may close it, and a child may hold it open.
        return self._process.exitcode is not None

    def events(self) -> Iterator[Event]:
        """Yield the events that it has reported since the last call."""
        try:
            while self._reports is not None and self._reports.poll():
                event = json.loads(self._reports.recv_bytes(_LONGEST_EVENT))
                if "returned" in event:
                    self._returned = event["returned"]
                    continue
                self.is_elsewhere |= event["event"] == "elsewhere"
                yield event
        except (EOFError, OSError, ValueError, LookupError, TypeError):
            # Closed, or cut by a kill, or something else has written into it.
            self._reports = None

    def end(self) -> int:
        """Kill what it has left behind.

        Returns:
          The exit status that it reported, negative for a signal; 1 if it ended by itself without
          a report.
        """
        status = self._process.exitcode
        assert status is not None
        self.kill()
        if self._is_late and status < 0:
            return TIME_LIMIT
        if status < 0:
            return status
        if self._returned is not None:
            return self._returned
        if status == _SERVER_IS_GONE:  # the process may have lived on until the kill above
            return -signal.SIGKILL
        # A plugin or a library has called exit. Its status means nothing, 0 and 75 neither.
        with contextlib.suppress(OSError), files.append_to(self._log) as log:
            log.write(f"The process ended itself with status {status}, before its end.\n")
        return 1

    def kill_if_late(self) -> None:
        """Kill it if it is past its time limit.

        It ends itself at the limit, unless it is stopped or a plugin has changed its timer.
        """
        if self._deadline is not None and time.monotonic() > self._deadline:
            self._is_late = True
            self.kill()

    def ask_to_leave(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            if self._process.pid is not None:
                os.kill(self._process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process and all processes of its group."""
        pid = self._process.pid
        assert pid is not None
        # The system gives an id to no new process while a process group has it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        if not self.has_ended():  # it may have no process group yet
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _start(child: BaseProcess) -> None:
    with _isolated():
        resource_tracker.ensure_running()  # first, because its start unblocks signals
        if METHOD == "forkserver":
            forkserver.set_forkserver_preload(_PRELOAD)
            _start_by_server(child)
        else:
            with _blocked_signals():
                child.start()


def _start_by_server(child: BaseProcess, tries: int = 5) -> None:
    with _blocked_signals():
        forkserver.ensure_running()
    try:
        # Not blocked, because the first process waits until the server has imported everything.
        # If this is interrupted, the process ends at its first report, which nobody reads.
        child.start()
    except (ConnectionError, EOFError):
        # The server was killed. For a moment the system still counts it as a process.
        if tries == 1:
            raise
        time.sleep(0.2)
        _start_by_server(child, tries - 1)


@contextlib.contextmanager
def _blocked_signals() -> Iterator[None]:
    """Block SIGINT and SIGTERM in processes that start in the `with` block.

    The server keeps them blocked: it tells the sweep how run groups end, so it must outlive them.
    Run groups unblock them when they have handlers.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _isolated() -> Iterator[None]:
    """Let processes that start in the `with` block import what this process imports, and no more.

    multiprocessing would import the main module again, which may be a script that starts a sweep.
    """
    main, before = sys.modules["__main__"], dict(os.environ)
    sys.modules["__main__"] = ModuleType("__main__")
    # JAX starts no thread before it is first used, so a fork of the server is safe.
    fork_is_safe = "ignore:os.fork:RuntimeWarning"
    filters = filter(None, [os.environ.get("PYTHONWARNINGS"), fork_is_safe])
    warnings = ",".join(filters)
    # Not for the run groups, whose plugins may start scripts that import their neighbors.
    os.environ.update(environment(), PYTHONSAFEPATH="1", PYTHONWARNINGS=warnings)
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        os.environ.clear()
        os.environ.update(before)
