"""Starts run groups on this machine: one pinned one-thread worker a core, or one worker a GPU;
fewer workers share the GPUs.

Every run group has a process of its own, forked by its worker after the imports that all need, so
one that dies takes nothing with it. Two one-thread workers train 1.2 to 1.3 times as much as one
worker on two threads.
"""

import contextlib
import importlib.util
import os
import queue
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab.runs import locks
from pe_lab.runs.errors import one_line
from pe_lab.sweeps.launchers._worker import Worker
from pe_lab.sweeps.launchers.base import Launcher, OnEvent, environment, json_object, one_thread

_LOOK_AGAIN = 2.0  # seconds
_LAST_WORDS = 5.0  # seconds in which workers that were killed are reported
_GRACE = 60.0  # seconds that workers have for a checkpoint when all is to stop


def available_cores() -> list[int]:
    """The cores that this process may use."""
    return (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )


def gpus() -> list[str]:
    """The NVIDIA devices that JAX could use here, as CUDA names them, found without starting
    JAX.
    """
    plugin = any(importlib.util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))
    if not plugin or not (os.environ.get("JAX_PLATFORMS") or "cuda").startswith(("cuda", "gpu")):
        return []
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name for name in visible.split(",") if name]
    return [str(i) for i in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]


def default_workers() -> int:
    """One a GPU where there are any, else one a core."""
    return len(gpus()) or len(available_cores())


class Local(Launcher):
    """Workers of this machine.

    Args:
      workers: at a time; None: one a GPU where there are any, else one a core.
    """

    def at_once(self, groups: int) -> int:
        return self.workers or default_workers()

    def launch(
        self, group_files: Sequence[Path], folder: Path, on_event: OnEvent
    ) -> dict[str, int]:
        workers = self.at_once(len(group_files))
        supervisor = _Supervisor(folder, on_event, group_files)
        places = [Place.of(i, workers) for i in range(min(workers, len(group_files)))]
        threads = [
            threading.Thread(target=supervisor.work, args=(place,), daemon=True) for place in places
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:  # Ctrl-C: what is running goes on from its checkpoint next time
            supervisor.stop()
            raise
        return supervisor.statuses


class _Supervisor:
    """Hands run groups to workers, and what workers report to one function."""

    def __init__(self, folder: Path, on_event: OnEvent, group_files: Sequence[Path]):
        self.folder, self.on_event = folder, on_event
        self.waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for file in group_files:
            self.waiting.put(file)
        self.statuses: dict[str, int] = {}
        self.workers: list[Worker] = []
        self.running: set[Path] = set()
        self.died: set[Path] = set()
        self.stopping = threading.Event()

    def work(self, place: "Place") -> None:
        """One worker's thread: a run group after another in one place."""
        with Worker({**environment(self.folder), **place.environment()}, place.pin) as worker:
            self.workers.append(worker)
            while not self.stopping.is_set():
                try:
                    file = self.waiting.get_nowait()
                except queue.Empty:
                    return
                self._take(file, worker)

    def _take(self, file: Path, worker: Worker) -> None:
        self.running.add(file)
        try:
            later = self._train(file, worker)
        finally:
            self.running.discard(file)
        if later:
            time.sleep(_LOOK_AGAIN)

    def _train(self, file: Path, worker: Worker) -> bool:
        """Train a run group and report how it ended; whether to wait before the next one."""
        try:
            free = _is_free(file)
            status = self._run(file, worker) if free else locks.LATER
        except OSError as e:  # a disk that is full, or may not be written
            self._end(file, 1, one_line(e))
            return False
        if self.stopping.is_set() and status == locks.LATER:
            self.on_event(file.stem, {"event": "saved" if free else "elsewhere"})
        elif self.stopping.is_set() and status < 0:  # before it could save, or after the grace
            self.on_event(file.stem, {"event": "stopped"})
        elif (
            status == locks.LATER
            # another sweep is at it, or it was asked to leave: it is looked at again after all
            # others
        ):
            self.on_event(file.stem, {"event": "left" if free else "elsewhere"})
            self.waiting.put(file)
            return True
        elif status < 0 and file not in self.died:
            self.on_event(file.stem, {"event": "died", "signal": -status})
            self.died.add(file)
            self.waiting.put(file)
        else:
            self._end(file, status)
        return False

    def _end(self, file: Path, status: int, error: str | None = None) -> None:
        self.statuses[file.stem] = status
        self.on_event(
            file.stem,
            {"event": "ended", "status": status} | ({} if error is None else {"error": error}),
        )

    def _run(self, file: Path, worker: Worker) -> int:
        log = self.folder / "logs" / f"{file.stem}.log"

        def on_line(line: str) -> None:
            if event := _event(line):
                self.on_event(file.stem, event)
            elif line.strip():
                with contextlib.suppress(OSError), open(log, "a", encoding="utf-8") as said:
                    said.write(line)

        self.on_event(file.stem, {"event": "started"})
        return worker.train(file, self.folder, log, on_line)

    def stop(self) -> None:
        """Asks all that run to save and leave; after a while, or when interrupted again, ends
        them.
        """
        self.stopping.set()
        for file in list(self.running):
            self.on_event(file.stem, {"event": "saving"})
        for worker in self.workers:
            worker.leave()
        with contextlib.suppress(KeyboardInterrupt):
            self._wait(_GRACE)
        for worker in self.workers:
            worker.send(signal.SIGKILL)
        self._wait(_LAST_WORDS)

    def _wait(self, seconds: float) -> None:
        """Wait until every running run group has reported how it ended."""
        until = time.monotonic() + seconds
        while self.running and time.monotonic() < until:
            time.sleep(0.05)


@dataclass(frozen=True)
class Place:
    """Where a worker runs: on one core, on its share of the GPUs, or anywhere."""

    core: int | None = None
    gpus: tuple[str, ...] = ()

    @classmethod
    def of(cls, number: int, workers: int) -> "Place":
        if found := gpus():
            return cls(gpus=tuple(found[number % len(found) :: workers]))
        cores = available_cores()
        return cls(core=cores[number % len(cores)]) if workers > 1 else cls()

    def environment(self) -> dict[str, str]:
        if self.gpus:
            return {"CUDA_VISIBLE_DEVICES": ",".join(self.gpus)}
        return {} if self.core is None else one_thread()

    def pin(self, pid: int) -> None:
        if self.core is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(pid, {self.core})


def _is_free(file: Path) -> bool:
    with locks.held(file.with_suffix(".lock")) as free:
        return free


def _event(line: str) -> dict[str, Any] | None:
    """What a run group reports is a JSON object with an "event"; all else that it prints is for its
    log.
    """
    found = json_object(line)
    return found if found and "event" in found else None
