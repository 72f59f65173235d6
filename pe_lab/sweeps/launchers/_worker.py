"""A worker of this machine: a process of pe_lab.training.worker in one place.

It trains one run group after the other, each in a fork of itself.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pe_lab.runs import files
from pe_lab.sweeps.launchers.base import Event


class Worker:
    """A worker process, started when it is first needed, and again if it has died.

    Args:
      environment: variables in addition to this process's environment.
      pin: called with the worker's process id.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        pin: Callable[[int], None],
    ):
        self.environment = {**os.environ, **environment}
        self.pin = pin
        self.process: subprocess.Popen[str] | None = None
        self.group: int | None = None  # process id of the fork that trains
        self.leaving = False

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()

    def _close(self) -> None:
        if self.process is not None:
            # Leaving the context closes the pipes, and the worker ends when its stdin closes.
            with contextlib.suppress(BrokenPipeError), self.process:
                pass
        self.process = self.group = None

    def train(
        self,
        group_file: Path,
        folder: Path,
        log: Path,
        on_event: Callable[[Event], None],
    ) -> int:
        """Train a run group.

        Args:
          log: file for the group's errors and prints.
          on_event: called with each event of the group.

        Returns:
          The exit status that the group reported, negative for a signal; 1 if it ended by itself
          without a report.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")  # of this try alone, because forks append
        process = self._started(log)
        assert process.stdin is not None
        assert process.stdout is not None
        request = json.dumps([str(group_file), str(folder), str(log)])
        with contextlib.suppress(BrokenPipeError):  # it has died: there is nothing to read either
            process.stdin.write(request + "\n")
            process.stdin.flush()
        returned = None
        for line in process.stdout:
            try:
                message = files.object_of(line)
            except ValueError:  # a killed group left the line unfinished
                continue
            if "event" in message:
                on_event(message)
            elif "returned" in message:
                returned = message["returned"]
            # "returned" is of the fork, "ended" of the worker: only both together tell a training
            # that came to its end from a plugin that called exit.
            elif "ended" in message:
                self.group = None  # the system may give its id to another process
                return _status(message["ended"], returned, log)
            elif "worker" in message:
                self.group = message["worker"]
                if self.leaving:  # it started after the signal to all groups
                    self.send(signal.SIGTERM)
        # The pipe has closed before the group ended: the worker itself has died. Its fork held the
        # same pipe open, so it has ended by now. The next group starts a new worker.
        self._close()
        return process.returncode or 1

    def leave(self) -> None:
        """Make the current run group save and leave."""
        self.leaving = True
        self.send(signal.SIGTERM)

    def send(self, number: int) -> None:
        """Send a signal to the current run group."""
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            if self.group is not None:
                os.kill(self.group, number)

    def _started(self, log: Path) -> subprocess.Popen[str]:
        if self.process is None:
            command = [sys.executable, "-m", "pe_lab.training.worker"]
            # The worker's own errors, such as a failed import, go to the log of its first group.
            with open(log, "a", encoding="utf-8") as errors:
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env=self.environment,
                )
            self.pin(self.process.pid)  # before the first request, so that forks inherit the core
        return self.process


def _status(ended: int, returned: int | None, log: Path) -> int:
    """The status of a run group.

    Args:
      ended: the exit status of its process.
      returned: the status that it reported; None: it did not come to its end.
    """
    if ended < 0:
        return ended
    if returned is None:
        # A plugin or a library has called exit. Its status means nothing, 0 and 75 neither.
        with contextlib.suppress(OSError), open(log, "a", encoding="utf-8") as errors:
            errors.write(f"The process ended itself with status {ended}, before its end.\n")
        return 1
    return returned
