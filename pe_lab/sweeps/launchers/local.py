"""Starts run groups on this machine: one pinned one-thread worker a core, or one worker a GPU.

If there are fewer workers than GPUs, each worker has several GPUs. Every run group has a process of
its own, forked by its worker after the common imports, so a crash ends one group only. Two
one-thread workers train 1.2 to 1.3 times as much as one worker with two threads.
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

from pe_lab.runs import locks, run_group_files
from pe_lab.runs.errors import one_line
from pe_lab.sweeps.launchers._watch import Watch
from pe_lab.sweeps.launchers._worker import Worker
from pe_lab.sweeps.launchers.base import (
    Event,
    Launcher,
    OnEvent,
    environment,
    one_thread,
)

_LOOK_AGAIN = 2.0  # seconds
_LAST_WORDS = 5.0  # seconds to report workers that were killed
_GRACE = 60.0  # seconds that workers have for a checkpoint when the sweep stops


def available_cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux only
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def gpus() -> list[str]:
    """The NVIDIA devices that JAX could use here, as CUDA names them."""
    # JAX itself would take memory of every device, so it is not started here.
    plugins = [importlib.util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13)]
    platforms = os.environ.get("JAX_PLATFORMS") or "cuda"
    # JAX computes on the first platform of the list.
    if not any(plugins) or not platforms.startswith(("cuda", "gpu")):
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        names = visible.split(",")
        if "-1" in names:  # CUDA hides this entry and all that follow
            names = names[: names.index("-1")]
        return [name for name in names if name]
    device_files = list(Path("/dev").glob("nvidia[0-9]*"))  # not nvidiactl or nvidia-uvm
    return [str(index) for index in range(len(device_files))]


def default_workers() -> int:
    """One worker for each GPU; without GPUs, one for each core."""
    return len(gpus()) or len(available_cores())


class Local(Launcher):
    """Workers of this machine.

    Args:
      workers: at a time; None: one for each GPU; without GPUs, one for each core.
    """

    def at_once(self, groups: int) -> int:
        return self.workers or default_workers()

    def launch(
        self, group_files: Sequence[Path], folder: Path, on_event: OnEvent
    ) -> dict[str, int]:
        workers = self.at_once(len(group_files))
        supervisor = _Supervisor(folder, on_event, group_files)
        threads = []
        # A thread for each worker, because a worker is followed by reading its pipe, which blocks.
        for number in range(min(workers, len(group_files))):
            place = Place.of(number, workers)
            # A daemon, so that a worker that does not end cannot keep this process alive.
            thread = threading.Thread(target=supervisor.work, args=(place,), daemon=True)
            threads.append(thread)
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:  # Ctrl-C: running groups resume from their checkpoints next time
            supervisor.stop()
            raise
        return supervisor.watch.statuses


class _Supervisor:
    """Hands run groups to workers, and the events of all workers to one function."""

    def __init__(self, folder: Path, on_event: OnEvent, group_files: Sequence[Path]):
        self.folder, self.on_event = folder, on_event
        self.waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for file in group_files:
            self.waiting.put(file)
        self.watch = Watch(folder, on_event)
        self.workers: list[Worker] = []
        self.running: set[Path] = set()
        self.elsewhere: set[Path] = set()  # their process found the lock of another sweep
        self.stopping = threading.Event()

    def work(self, place: "Place") -> None:
        """The thread of one worker: one run group after the other in one place."""
        variables = {**environment(), **place.environment()}
        with Worker(variables, place.pin) as worker:
            # Before `stopping` is read, so that `stop` reaches every worker that takes a group.
            self.workers.append(worker)
            while not self.stopping.is_set():
                try:
                    file = self.waiting.get_nowait()
                except queue.Empty:
                    # No group is lost: the thread that puts one back looks here again.
                    return
                self._take(file, worker)

    def _take(self, file: Path, worker: Worker) -> None:
        self.running.add(file)
        try:
            later = self._train(file, worker)
        finally:
            self.running.discard(file)
        if later:  # else this thread would take the same locked group again and again
            time.sleep(_LOOK_AGAIN)

    def _train(self, file: Path, worker: Worker) -> bool:
        """Train a run group and report how it ended.

        Returns:
          Whether to wait before the next group.
        """
        try:
            # No fork for a group that another sweep trains. The lock may be taken after this look,
            # which the process itself then reports as "elsewhere".
            is_free = _is_free(file)
            status = self._run(file, worker) if is_free else locks.LATER
            is_free = is_free and file not in self.elsewhere
        except OSError as e:  # a disk that is full, or may not be written
            self.watch.end(file, 1, one_line(e))
            return False
        # While the sweep stops, no group starts again. LATER then means that it has saved.
        if self.stopping.is_set() and status == locks.LATER:
            self.on_event(file.stem, {"event": "saved" if is_free else "elsewhere"})
        elif self.stopping.is_set() and status < 0:  # before it could save, or after the grace
            self.on_event(file.stem, {"event": "stopped"})
        elif self.watch.starts_again(file, status, is_elsewhere=not is_free):
            self.waiting.put(file)  # after the others
            return status == locks.LATER
        else:
            self.watch.end(file, status)
        return False

    def _run(self, file: Path, worker: Worker) -> int:
        log = self.folder / "logs" / f"{file.stem}.log"

        def on_event(event: Event) -> None:
            if event["event"] == "elsewhere":
                self.elsewhere.add(file)
            self.on_event(file.stem, event)

        self.elsewhere.discard(file)  # of an earlier try
        on_event({"event": "started"})
        return worker.train(file, self.folder, log, on_event)

    def stop(self) -> None:
        """Make all running groups save and leave.

        Groups that still run after a grace period, or at a second interrupt, are killed.
        """
        self.stopping.set()
        for file in list(self.running):  # a copy, because the threads change the set
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
    """The core or the GPUs of a worker; without either it may run anywhere."""

    core: int | None = None
    gpus: tuple[str, ...] = ()

    @classmethod
    def of(cls, number: int, workers: int) -> "Place":
        names = gpus()
        if names:
            # Every further GPU, if there are more GPUs than workers.
            devices = names[number % len(names) :: workers]
            return cls(gpus=tuple(devices))
        if workers == 1:
            return cls()  # one worker uses all cores
        cores = available_cores()
        return cls(core=cores[number % len(cores)])

    def environment(self) -> dict[str, str]:
        if self.gpus:
            return {"CUDA_VISIBLE_DEVICES": ",".join(self.gpus)}
        if self.core is None:
            return {}
        return one_thread()

    def pin(self, pid: int) -> None:
        if self.core is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(pid, {self.core})


def _is_free(file: Path) -> bool:
    # Released at once, because the process of the group takes the lock itself.
    with locks.held(run_group_files.lock_of(file)) as free:
        return free
