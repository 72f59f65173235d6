"""Starts run groups as tasks of a Ray cluster.

It needs Ray: `pip install 'pe_lab[ray]'`, and a cluster that runs: `ray start --head` on one
machine, and `ray start --address=HOST:6379` on the others.

    pe-lab sweep mine.py --config.launcher.name=ray --config.launcher.gpus=1

A task runs the command of one run group, so JAX has a process of its own. Every machine must see
the results folder and the same Python at the same paths.
"""

import contextlib
import logging
import os
import signal
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from pe_lab.runs.errors import UserError, one_line, raise_if_interrupted
from pe_lab.runs.records import run_group_files
from pe_lab.runs.system import files, locks
from pe_lab.sweeps.launchers.base import Launcher, OnEvent, Watch, command, task_environment

_LOOK_AGAIN = 2.0  # seconds
_ANSWER = 10.0  # seconds for an answer of the cluster
_GRACE = 60.0  # seconds that tasks have for a checkpoint when the sweep stops


class Ray(Launcher):
    """Tasks of a Ray cluster.

    Args:
      workers: tasks at a time; None: as many as the cluster has room for.
      address: of the cluster, as in "10.0.0.1:6379"; "auto": the one of this machine, or of the
        variable RAY_ADDRESS.
      cpus: cores of a task.
      gpus: of a task.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        address: str = "auto",
        cpus: int = 1,
        gpus: int = 0,
    ):
        super().__init__(workers=workers)
        if cpus < 1 or gpus < 0:
            raise ValueError(f"ray needs cpus from 1 and gpus from 0, got {cpus} and {gpus}.")
        self.address = address
        self.cpus = cpus
        self.gpus = gpus

    def launch(
        self, group_files: Sequence[Path], folder: Path, on_event: OnEvent
    ) -> dict[str, int]:
        if not group_files:
            return {}
        folder = folder.absolute()
        with _connected(self.address) as ray:
            _check_shared(ray, folder)
            return _RayTasks(ray, self, folder, on_event).run(group_files)

    def variables(self) -> dict[str, str]:
        """The variables that a task adds to the environment of Ray's worker."""
        variables = task_environment(self.cpus, self.gpus)
        # Ray's workers have the environment of `ray start`, not that of this process.
        if "JAX_PLATFORMS" in os.environ:
            variables["JAX_PLATFORMS"] = os.environ["JAX_PLATFORMS"]
        return variables


class _RayTasks:
    """Submits run groups and follows them until they have ended."""

    def __init__(self, ray: ModuleType, launcher: Ray, folder: Path, on_event: OnEvent):
        self.ray, self.folder, self.on_event = ray, folder, on_event
        self.most = launcher.workers  # None: Ray queues the tasks that it has no room for
        self.watch = Watch(folder, on_event)
        self.waiting: deque[Path] = deque()
        self.running: dict[object, Path] = {}  # by the reference of a task's result
        self.variables = launcher.variables()
        # Ray would retry a task silently. Tasks are retried here instead.
        task = ray.remote(num_cpus=launcher.cpus, num_gpus=launcher.gpus, max_retries=0)
        self.task = task(_train())

    def run(self, group_files: Sequence[Path]) -> dict[str, int]:
        self.waiting.extend(group_files)
        try:
            while self.waiting or self.running:
                raise_if_interrupted()
                self._submit()
                self._look()
        except BaseException:  # Ctrl-C: running groups resume from their checkpoints next time
            self._stop()
            raise
        return self.watch.statuses

    def _submit(self) -> None:
        while self.waiting and (self.most is None or len(self.running) < self.most):
            file = self.waiting.popleft().absolute()
            self.watch.begin(file)  # before the task can write its progress
            log = self.folder / "logs" / f"{file.stem}.log"
            files.append_to(log, empty=True).close()  # which refuses a link
            mark = run_group_files.later_mark(file)
            words = command(file, self.folder)
            result = self.task.remote(words, self.variables, str(log), str(mark), locks.LATER)
            self.running[result] = file
            self.on_event(file.stem, {"event": "queued", "job": result.hex()[:8]})

    def _look(self) -> None:
        results = list(self.running)
        # This returns without an ended task after a while, so that progress is shown in between.
        ended, _ = self.ray.wait(results, num_returns=1, timeout=_LOOK_AGAIN)
        for file in self.running.values():
            self.watch.follow(file)
        for result in ended:
            file = self.running.pop(result)
            status = self._status(result)
            if not self.watch.starts_again(file, status):
                self.watch.end(file, status)
                continue
            self.waiting.append(file)  # after the others
            if status == locks.LATER:  # of a task that another sweep trains: do not ask at once
                time.sleep(_LOOK_AGAIN)

    def _status(self, result: object) -> int:
        """The exit status of a task; the status of SIGKILL if its worker or machine has died."""
        try:
            return self.ray.get(result)
        # The task's function raised, so the command could not even start: the others cannot either.
        # This clause comes first, because a RayTaskError is a RayError.
        except self.ray.exceptions.RayTaskError as e:
            raise UserError(f"Ray cannot start the run groups: {one_line(e.cause)}.") from e
        # A dead worker, a dead machine, a lost object: the run group is tried once more.
        except self.ray.exceptions.RayError:
            return -signal.SIGKILL

    def _stop(self) -> None:
        """Make all running groups save and leave."""
        for result, file in self.running.items():
            self.on_event(file.stem, {"event": "saving"})
            self.ray.cancel(result, force=False)  # raises KeyboardInterrupt in the task
        # A task that is killed after the grace period resumes from its last checkpoint.
        if self.running:
            results = list(self.running)
            self.ray.wait(results, num_returns=len(results), timeout=_GRACE)


def _train() -> Callable[[list[str], Mapping[str, str], str, str, int], int]:
    """The function of a task. Ray sends an inner function by value: workers import no pe_lab."""

    def train(
        words: list[str], variables: Mapping[str, str], log: str, mark: str, later: int
    ) -> int:
        import os
        import subprocess

        with open(log, "w", encoding="utf-8") as errors:
            process = subprocess.Popen(
                words,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                # The process ends when nobody reads its reports, as after the death of a worker.
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert process.stdout is not None
        with process:  # closes the pipe
            try:
                # Progress comes from its file. Reports are read because a full pipe would block the
                # process.
                for _ in process.stdout:
                    pass
            except BaseException:  # the sweep stops: the process saves and leaves
                process.terminate()
                process.stdout.read()  # before `wait`, for the same reason
                process.wait()
                raise
            status = process.wait()
        # A plugin may have ended the process with the status of a preempted one.
        return 1 if status == later and not os.path.exists(mark) else status

    return train


@contextlib.contextmanager
def _connected(address: str) -> Iterator[ModuleType]:
    """Connect to a cluster inside of the `with` block."""
    try:
        import ray
    except ImportError as e:
        raise UserError("The ray launcher needs Ray: pip install 'pe_lab[ray]'.") from e
    is_main = threading.current_thread() is threading.main_thread()  # only it may set handlers
    handler = signal.getsignal(signal.SIGTERM)
    host, colon, port = address.rpartition(":")
    try:
        if colon and port.isdigit():  # Ray would wait for minutes for a machine that is not there
            socket.create_connection((host, int(port)), timeout=_ANSWER).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError) as e:
        raise UserError(
            f"There is no Ray cluster at {address!r}: start one with `ray start --head` "
            f"({one_line(e)})."
        ) from e
    try:
        if is_main:  # Ray has replaced the handler of the sweep
            signal.signal(signal.SIGTERM, handler)
        yield ray
    finally:
        ray.shutdown()


def _check_shared(ray: ModuleType, folder: Path) -> None:
    """Check that all machines of a cluster see the results folder.

    Raises:
      UserError: one of them does not.
    """
    strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    probe = folder / f".shared-{uuid.uuid4().hex}"
    probe.touch()

    def sees(path: str) -> bool:
        import os

        return os.path.exists(path)

    task = ray.remote(num_cpus=0, max_retries=0)(sees)  # no core, so busy machines run it too
    try:
        for node in ray.nodes():
            if not node["Alive"]:
                continue
            here = strategy(node_id=node["NodeID"], soft=False)  # no other machine may run it
            result = task.options(scheduling_strategy=here).remote(str(probe))
            if not ray.get(result):
                raise UserError(
                    f"The machine {node['NodeManagerAddress']} of the Ray cluster does not see "
                    f"{folder}: give a folder that all machines share, --results=FOLDER."
                )
    finally:
        probe.unlink()
