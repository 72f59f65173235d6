"""A worker of this machine: a process of pe_lab.training.worker in one place, which trains a run
group after another in forks of itself.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pe_lab.sweeps.launchers.base import json_object


class Worker:
    """Started when it is first needed, and again if it has died.

    Args:
      environment: what it adds to this process's own.
      pin: called with its process id.
    """

    def __init__(self, environment: Mapping[str, str], pin: Callable[[int], None]):
        self.environment, self.pin = {**os.environ, **environment}, pin
        self.process: subprocess.Popen[str] | None = None
        self.group: int | None = None  # process id of the fork that trains
        self.leaving = False

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()

    def _close(self) -> None:
        if self.process is not None:
            with (
                contextlib.suppress(BrokenPipeError),
                self.process,
            ):  # closes its pipes, at which it ends
                pass
        self.process = self.group = None

    def train(
        self, group_file: Path, folder: Path, log: Path, on_line: Callable[[str], None]
    ) -> int:
        """The exit status of a run group, negative for a signal; `on_line` is called with what it
        prints, and errors go to the log.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")
        process = self._started(log)
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has died: there is nothing to read either
            process.stdin.write(json.dumps([str(group_file), str(folder), str(log)]) + "\n")
            process.stdin.flush()
        for line in process.stdout:
            told = json_object(line) or {}
            if "worker" not in told:
                on_line(line)
                continue
            self.group = None if "status" in told else told["worker"]
            if "status" in told:
                return told["status"]
            if self.leaving:  # it was started while all were told to leave
                self.send(signal.SIGTERM)
        self._close()
        return process.returncode or 1

    def leave(self) -> None:
        """Asks what it trains to save and leave."""
        self.leaving = True
        self.send(signal.SIGTERM)

    def send(self, number: int) -> None:
        """A signal to what it trains."""
        with contextlib.suppress(ProcessLookupError):
            if self.group is not None:
                os.kill(self.group, number)

    def _started(self, log: Path) -> subprocess.Popen[str]:
        if self.process is None:
            command = [sys.executable, "-m", "pe_lab.training.worker"]
            with open(log, "a", encoding="utf-8") as errors:
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env=self.environment,
                )
            self.pin(self.process.pid)
        return self.process
