"""The base class of launchers, which start run groups and report how they ended.

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
from pe_lab.runs.records.record_schema import JsonObject

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
