"""What a launcher is. It only starts run groups, each a command of its own, and says how they
ended: records are the same under all.
"""

import abc
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pe_lab.runs import plugins
from pe_lab.runs.errors import UserError

# XLA's, for a worker that has one core
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
OnEvent = Callable[[str, dict[str, Any]], None]


class Launcher(abc.ABC):
    """Starts run groups.

    Args:
      workers: run groups at a time; None: as many as the launcher finds place for.
    """

    def __init__(self, *, workers: int | None = None):
        if workers is not None and workers < 1:
            raise ValueError(f"A launcher needs a worker, got {workers}.")
        self.workers = workers

    @abc.abstractmethod
    def at_once(self, groups: int) -> int:
        """How many of so many run groups it means to run at a time."""

    @abc.abstractmethod
    def launch(
        self, group_files: Sequence[Path], folder: Path, on_event: OnEvent
    ) -> dict[str, int]:
        """Runs every run group; stderr goes to folder/logs. A run group whose worker dies is tried
        once more.

        Args:
          group_files: named by run group id.
          folder: the study's.
          on_event: called with a run group's id and what it reports, from any thread.

        Returns:
          run group id -> exit status of its process, negative for a signal.
        """


def launcher(spec: Any, workers: int | None = None) -> Launcher:
    """The launcher of a config's dict(name=..., ...); `workers`, where given, in place of its
    own.
    """
    if not isinstance(spec, Mapping):
        raise UserError(f"config.launcher is given as dict(name=..., ...), got {spec!r}.")
    given = {**spec} if workers is None else {**spec, "workers": workers}
    return plugins.build("sweeps.launchers", plugins.resolve("sweeps.launchers", given))


def command(group_file: Path, folder: Path) -> list[str]:
    """What trains a run group."""
    return [sys.executable, "-m", "pe_lab.training.process", str(group_file), str(folder)]


def environment(folder: Path) -> dict[str, str]:
    """A compilation cache that all workers share, and this process's import path."""
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str((folder.parent / ".jax_cache").absolute()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    path = os.pathsep.join(p or os.getcwd() for p in sys.path)
    return {
        "PYTHONPATH": path,
        **{name: os.environ.get(name, value) for name, value in cache.items()},
    }


def one_thread() -> dict[str, str]:
    """What a worker that has one core is told, beside the user's own flags."""
    return {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}".strip()}


def json_object(text: str) -> dict[str, Any] | None:
    """A JSON object; None for all else."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
