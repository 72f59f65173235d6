"""Starts run groups on this machine: one pinned one-thread worker a core, or one worker a GPU.

If there are fewer workers than GPUs, each worker has several GPUs. Every run group has a process of
its own, forked by a server after the common imports, so a crash ends one group only. Two
one-thread workers train 1.2 to 1.3 times as much as one worker with two threads.
"""

import contextlib
import heapq
import importlib.util
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import NamedTuple

from pe_lab.runs.errors import one_line, raise_if_interrupted
from pe_lab.runs.records import run_group_files
from pe_lab.runs.system import locks
from pe_lab.sweeps.launchers._group_process import GroupProcess, Task
from pe_lab.sweeps.launchers.base import Launcher, OnEvent, Watch, one_thread
from pe_lab.training import process

TRAIN: process.Train = process.main  # of a run group, in its process
_LOOK = 0.5  # seconds between two looks at time limits and waiting groups
_LOOK_AGAIN = 2.0  # seconds until a group that another sweep trains is tried again
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
        supervisor = _Supervisor(folder, on_event, group_files, self.at_once(len(group_files)))
        try:
            supervisor.run()
        except BaseException:  # Ctrl-C: running groups resume from their checkpoints next time
            supervisor.stop()
            raise
        return supervisor.watch.statuses


class _Supervisor:
    """Starts run groups, each in a free place, and passes on their events until all have ended."""

    def __init__(self, folder: Path, on_event: OnEvent, group_files: Sequence[Path], workers: int):
        self.folder, self.on_event = folder, on_event
        self.watch = Watch(folder, on_event)
        self.waiting = [_Waiting(0.0, number, file) for number, file in enumerate(group_files)]
        self.num_queued = len(group_files)
        num_places = min(workers, len(group_files))
        self.free = [Place.of(number, workers) for number in range(num_places)]
        self.running: dict[GroupProcess, Place] = {}
        self.stopping = False

    def run(self) -> None:
        while self.waiting or self.running:
            raise_if_interrupted()
            while self.free and self.waiting and self.waiting[0].due <= time.monotonic():
                self._start(heapq.heappop(self.waiting).file)
            self._look()

    def _start(self, file: Path) -> None:
        try:
            # No process for a group that another sweep trains. The lock may be taken after this
            # look, which the process itself then reports as "elsewhere".
            if not _is_free(file):
                self._end(file, locks.LATER, is_elsewhere=True)
                return
            self.on_event(file.stem, {"event": "started"})
            place = self.free[0]
            group = GroupProcess(Task(file, self.folder, place.environment(), place.pin, TRAIN))
        except (OSError, EOFError) as e:  # a disk that is full or may not be written, a dead server
            self.watch.end(file, 1, one_line(e))
            return
        self.running[group] = self.free.pop(0)

    def _look(self) -> None:
        """Pass on the events of all run groups. Wait for one if there is none, but not for long."""
        news = itertools.chain.from_iterable(group.waitables() for group in self.running)
        connection.wait(list(news), _LOOK)
        for group in list(self.running):
            group.kill_if_late()
            has_ended = group.has_ended()  # before its last events are read
            for event in group.events():
                self.on_event(group.file.stem, event)
            if has_ended:
                self.free.append(self.running.pop(group))
                self._end(group.file, group.end(), group.is_elsewhere)

    def _end(self, file: Path, status: int, is_elsewhere: bool) -> None:
        """Report how a run group ended, or let it start again."""
        # While the sweep stops, no group starts again. LATER then means that it has saved.
        if self.stopping and status == locks.LATER:
            self.on_event(file.stem, {"event": "elsewhere" if is_elsewhere else "saved"})
        elif self.stopping and status < 0:  # before it could save, or after the grace
            self.on_event(file.stem, {"event": "stopped"})
        elif self.watch.starts_again(file, status, is_elsewhere=is_elsewhere):
            # After the others; later, because a locked group would be tried again at once.
            pause = _LOOK_AGAIN if status == locks.LATER else 0.0
            again = _Waiting(time.monotonic() + pause, self.num_queued, file)
            self.num_queued += 1
            heapq.heappush(self.waiting, again)
        else:
            self.watch.end(file, status)

    def stop(self) -> None:
        """Make all running groups save and leave.

        Groups that still run after a grace period, or at a second interrupt, are killed.
        """
        self.stopping = True
        with contextlib.suppress(KeyboardInterrupt):
            for group in self.running:
                self.on_event(group.file.stem, {"event": "saving"})
                group.ask_to_leave()
            self._follow(_GRACE)
        for group in self.running:
            group.kill()
        self._follow(_LAST_WORDS)

    def _follow(self, seconds: float) -> None:
        """Follow the running run groups until all have ended."""
        until = time.monotonic() + seconds
        while self.running and time.monotonic() < until:
            self._look()


class _Waiting(NamedTuple):
    """A run group that waits for a place: from when on, and its number in the queue."""

    due: float  # on the monotonic clock
    number: int
    file: Path


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
        """Let a process, or with 0 this one, run on the core of this place alone."""
        if self.core is not None and hasattr(os, "sched_setaffinity"):  # Linux only
            os.sched_setaffinity(pid, {self.core})


def _is_free(file: Path) -> bool:
    # Released at once, because the process of the group takes the lock itself.
    with locks.held(run_group_files.lock_of(file)) as free:
        return free
