"""Starts cells on this machine: one pinned one-thread worker a core, or one worker a GPU.

Every cell has a process of its own, so one that dies takes nothing with it. Two one-thread workers train
1.2 to 1.3 times as much as one worker on two threads.
"""

import contextlib
import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab import locks

_LOOK_AGAIN = 2.0  # seconds
OnEvent = Callable[[str, dict[str, Any]], None]


def available_cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def gpus() -> list[str]:
    """The NVIDIA devices that JAX could use here, as CUDA names them, found without starting JAX."""
    plugin = any(importlib.util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))
    if not plugin or not (os.environ.get("JAX_PLATFORMS") or "cuda").startswith(("cuda", "gpu")):
        return []
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name for name in visible.split(",") if name]
    return [str(i) for i in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]


def default_workers() -> int:
    """One a GPU where there are any, else one a core."""
    return len(gpus()) or len(available_cores())


def launch(cell_files: Sequence[Path], folder: Path, workers: int, on_event: OnEvent) -> dict[str, int]:
    """Runs every cell, `workers` at a time; stderr goes to folder/logs.

    Args:
      cell_files: named by cell id.
      on_event: called with a cell's id and what it reports, from the workers' threads.

    Returns:
      cell id -> exit status of its process, negative for a signal.
    """
    waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for file in cell_files:
        waiting.put(file)
    statuses: dict[str, int] = {}
    running: list[subprocess.Popen[str]] = []

    def work(number: int) -> None:
        while True:
            try:
                file = waiting.get_nowait()
            except queue.Empty:
                return
            status = _run(file, folder, _Place.of(number, workers), running, on_event) if _is_free(file) else locks.BUSY
            if status == locks.BUSY:  # another sweep is at it: it is looked at again after all others
                on_event(file.stem, {"event": "elsewhere"})
                waiting.put(file)
                time.sleep(_LOOK_AGAIN)
            else:
                on_event(file.stem, {"event": "ended", "status": status})
                statuses[file.stem] = status

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(min(workers, len(cell_files)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # Ctrl-C: what is running goes on from its checkpoint next time
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()
        for process in running:
            process.kill()
        raise
    return statuses


@dataclass(frozen=True)
class _Place:
    """Where a worker runs: on one core, on one GPU, or anywhere."""

    core: int | None = None
    gpu: str | None = None

    @classmethod
    def of(cls, number: int, workers: int) -> "_Place":
        if found := gpus():
            return cls(gpu=found[number % len(found)])
        cores = available_cores()
        return cls(core=cores[number % len(cores)]) if workers > 1 else cls()

    def environment(self) -> dict[str, str]:
        if self.gpu is not None:
            return {"CUDA_VISIBLE_DEVICES": self.gpu}
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        return {} if self.core is None else {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()}

    def pin(self, pid: int) -> None:
        if self.core is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(pid, {self.core})


def _run(file: Path, folder: Path, place: _Place, running: list, on_event: OnEvent) -> int:
    log = folder / "logs" / f"{file.stem}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pe_lab.training.cell", str(file), str(folder)]
    on_event(file.stem, {"event": "started"})
    env = _environment(folder) | place.environment()
    with (
        open(log, "w", encoding="utf-8") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env) as process,
    ):
        running.append(process)
        place.pin(process.pid)
        assert process.stdout is not None
        for line in process.stdout:
            if event := _event(line):
                on_event(file.stem, event)
            else:
                errors.write(line)
    running.remove(process)
    return process.returncode


def _is_free(file: Path) -> bool:
    with locks.held(file.with_suffix(".lock")) as free:
        return free


def _event(line: str) -> dict[str, Any] | None:
    """What a cell reports is a JSON object with an "event"; all else that it prints is for its log."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None


def _environment(folder: Path) -> dict[str, str]:
    """A compilation cache that all workers share, and this process's import path."""
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p or os.getcwd() for p in sys.path))
    env.setdefault("JAX_COMPILATION_CACHE_DIR", str((folder.parent / ".jax_cache").absolute()))
    env.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    env.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    return env
