"""The base class of launchers, which start run groups and report how they ended, and their watch.

The records of a study do not depend on its launcher.
"""

import abc
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pe_lab import import_path
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records import run_group_files
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.system import locks

# The status of a run group that took longer than its execution.time_limit. It is not tried again.
TIME_LIMIT = -signal.SIGALRM
# XLA's flags for a worker with one core, on which several threads would only take turns
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_CACHE = "JAX_COMPILATION_CACHE_DIR"
Event = JsonObject
OnEvent = Callable[[str, Event], None]  # called with a run group's id


class Launcher(abc.ABC):
    """Starts run groups.

    Args:
      workers: run groups at a time; None: as many as the launcher has room for.
    """

    def __init__(self, *, workers: int | None = None):
        if workers is not None and workers < 1:
            raise ValueError(f"A launcher needs a worker, got {workers}.")
        self.workers = workers

    def at_once(self, groups: int) -> int:
        """The number of run groups, out of `groups`, that run at a time. By default all of them."""
        return self.workers or max(groups, 1)

    @abc.abstractmethod
    def launch(
        self, group_files: Sequence[Path], folder: Path, on_event: OnEvent
    ) -> dict[str, int]:
        """Run every run group; stderr goes to folder/logs.

        A run group whose worker dies is tried once more, unless it exceeded its time limit.

        Args:
          group_files: named by run group id.
          folder: the study's.
          on_event: called with a run group's id and each of its events, from any thread.

        Returns:
          The exit status of each process by run group id, negative for a signal. A run is done
          when its record exists, and not by this status.
        """


def launcher(spec: object, workers: int | None = None) -> Launcher:
    """The launcher of a config's dict(name=..., ...).

    Args:
      workers: replaces the number of the config; None: no replacement.
    """
    if not isinstance(spec, Mapping):
        raise UserError(f"config.launcher is given as dict(name=..., ...), got {spec!r}.")
    values = {**spec}
    if workers is not None:
        values["workers"] = workers
    plugin = plugins.resolve("sweeps.launchers", values)
    return plugins.build("sweeps.launchers", plugin)


def command(group_file: Path, folder: Path) -> list[str]:
    """The command that trains a run group."""
    # -P, because a module in the current folder must not replace one that JAX imports.
    return [sys.executable, "-P", "-m", "pe_lab.training.process", str(group_file), str(folder)]


def environment() -> dict[str, str]:
    """Variables of a worker: this process's import path, and its folder of compiled programs."""
    # Plugins are imported by name, so a worker must search the folders that this process searches.
    variables = import_path.variables()
    if _CACHE in os.environ:  # a worker on another machine inherits nothing
        variables[_CACHE] = os.environ[_CACHE]
    return variables


def task_environment(cpus: int, gpus: int) -> dict[str, str]:
    """Variables of a task on a cluster. A task with one core and no GPU has one thread."""
    if cpus == 1 and not gpus:
        return environment() | one_thread()
    return environment()


def one_thread() -> dict[str, str]:
    """XLA's flags for a worker with one core, after the user's flags."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}"
    return {"XLA_FLAGS": flags.strip()}


class Watch:
    """Reports the progress of run groups, and decides which of them start again.

    Attributes:
      statuses: the exit status of each run group that has ended, by its id.
    """

    def __init__(self, folder: Path, on_event: OnEvent):
        self.statuses: dict[str, int] = {}
        self._folder = folder
        self._on_event = on_event
        self._died: set[Path] = set()
        self._latest: dict[Path, Event] = {}

    def begin(self, file: Path) -> None:
        """Begin to follow a run group, before its process starts.

        A progress file that exists now is of an earlier process, and holds no news.
        """
        self._latest[file] = run_group_files.read_progress(self._folder, file.stem)

    def follow(self, file: Path) -> None:
        """Report the progress file of a run group if it has changed."""
        # A file, because a task on another machine has no pipe to this process. It is replaced as a
        # whole, so a read never sees a part of it.
        progress = run_group_files.read_progress(self._folder, file.stem)
        if progress and progress != self._latest[file]:
            self._latest[file] = progress
            self._on_event(file.stem, progress)

    def starts_again(
        self, file: Path, status: int, *, is_elsewhere: bool = False, may_retry: bool = True
    ) -> bool:
        """Whether a run group starts again after the end of its process, which is then reported.

        A group that was preempted always does. One whose process died is tried once more.

        Args:
          is_elsewhere: another sweep holds its lock.
          may_retry: False for a process that was ended on purpose.
        """
        if status == locks.LATER:
            self._on_event(file.stem, {"event": "elsewhere" if is_elsewhere else "left"})
            return True
        # By a signal, for want of memory or on a machine that fails. Once more, and not
        # again and again, because a group that needs too much memory dies every time.
        has_died = status < 0 and status != TIME_LIMIT
        if has_died and may_retry and file not in self._died:
            self._died.add(file)
            self._on_event(file.stem, {"event": "died", "signal": -status})
            return True
        return False

    def end(self, file: Path, status: int, error: str | None = None) -> None:
        """Report the end of a run group that does not start again."""
        self.statuses[file.stem] = status
        reason = {} if error is None else {"error": error}
        self._on_event(file.stem, {"event": "ended", "status": status, **reason})
