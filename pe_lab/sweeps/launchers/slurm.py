"""Starts run groups as tasks of a Slurm job array, which submitit writes and submits.

It needs submitit: `pip install 'pe_lab[slurm]'`.

    pe-lab sweep configs/mine.py --config.launcher.name=slurm \\
        --config.launcher.gpus=1

A task runs the command of one run group. It receives SIGTERM before it is preempted or its time is
up. Then it saves and puts itself back into the queue, also if the sweep has ended. Of submitit's
jobs only the script is used, not the pickles, so nothing in a results folder is ever unpickled.
"""

import contextlib
import io
import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from pe_lab.runs.errors import UserError, one_line, raise_if_interrupted
from pe_lab.runs.records import run_group_files
from pe_lab.runs.system import files, locks
from pe_lab.sweeps.launchers import _slurm_queue
from pe_lab.sweeps.launchers.base import Launcher, OnEvent, Watch, command, task_environment

_LOOK_AGAIN = 5.0  # seconds
_NOTICE = 60  # seconds between SIGTERM and the end of a task's time
_ARRAY = 1000  # tasks; the default of Slurm's MaxArraySize is 1001


class Slurm(Launcher):
    """Tasks of a Slurm cluster.

    The cluster must keep accounts (slurmdbd), and all its machines must see the results folder.
    Options without an argument here are set by Slurm's variables: SBATCH_QOS, SBATCH_CONSTRAINT, …

    Args:
      workers: tasks at a time; None: as many as Slurm starts.
      partition: None: the cluster's default, as for the account and the memory.
      cpus: cores of a task.
      gpus: of a task.
      memory_gb: of a task.
      minutes: of a task; a longer run group resumes from its checkpoint in another task.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        partition: str | None = None,
        account: str | None = None,
        cpus: int = 1,
        gpus: int = 0,
        memory_gb: float | None = None,
        minutes: int = 240,
    ):
        super().__init__(workers=workers)
        no_memory = memory_gb is not None and memory_gb <= 0
        # A task of one minute would receive SIGTERM at its start (`_NOTICE`).
        if cpus < 1 or gpus < 0 or minutes < 2 or no_memory:
            raise ValueError(
                f"slurm needs cpus from 1, gpus from 0, minutes from 2, memory_gb above 0: got "
                f"{cpus}, {gpus}, {minutes}, {memory_gb}."
            )
        self.cpus = cpus
        self.gpus = gpus
        memory = None if memory_gb is None else f"{round(memory_gb * 1024)}M"
        options = dict(
            time=minutes,
            cpus_per_task=cpus,
            gpus_per_node=gpus or None,
            mem=memory,
            partition=partition,
            account=account,
        )
        self.resources = {name: value for name, value in options.items() if value is not None}

    def launch(
        self, group_files: Sequence[Path], folder: Path, on_event: OnEvent
    ) -> dict[str, int]:
        _slurm_queue.check_accounting()
        statuses: dict[str, int] = {}
        for first in range(0, len(group_files), _ARRAY):
            with _SlurmTasks(self, folder.absolute(), on_event) as tasks:
                tasks.submit(group_files[first : first + _ARRAY])
                statuses |= tasks.until_ended()
        return statuses

    def submit(self, group_files: Sequence[Path], folder: Path) -> str:
        """Submit an array with one task for each run group; return its id."""
        executor = _slurm_queue.submitit_module().SlurmExecutor(folder / "slurm")
        for file in group_files:
            # Which refuses a link, because srun would write through it.
            files.append_to(folder / "logs" / f"{file.stem}.log").close()
        array = f"0-{len(group_files) - 1}%{self.at_once(len(group_files))}"
        extra = dict(
            array=array,
            requeue=True,  # else a cluster may refuse the `scontrol requeue` below
            # To srun's processes only: the script must go on, because it requeues the task.
            signal=f"TERM@{_NOTICE}",
            output=str(folder / "slurm" / "%A_%a.log"),
        )
        # All tasks of an array run one script, in which the shell replaces $group.
        group_file = group_files[0].parent.absolute() / "$group.json"
        mark = _quoted(str(run_group_files.later_mark(group_file)))
        variables = task_environment(self.cpus, self.gpus)
        exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        executor.update_parameters(
            **self.resources,
            job_name=f"pe_lab:{folder.name}",
            setup=[
                *exports,
                # Ids are hexadecimal, so they need no quotes here and in `_quoted`.
                f"groups=({' '.join(file.stem for file in group_files)})",
                "group=${groups[$SLURM_ARRAY_TASK_ID]}",
            ],
            teardown=[
                "status=$?",  # first, because every command replaces $?
                # A plugin may have ended the process with the status of a preempted one.
                f"if [ $status = {locks.LATER} ] && [ ! -e {mark} ]; then status=1; fi",
                f"if [ $status = {locks.LATER} ]; then scontrol requeue $SLURM_JOB_ID; fi",
                # Slurm's accounts cannot tell a shell's 128 + 9 from an exit status of 9.
                f"exit $((status > 128 ? status - 128 + {_slurm_queue.SIGNAL} : status))",
            ],
            stderr_to_stdout=True,
            # The command below has its own srun: Slurm from 22.05 needs the number of cores there.
            use_srun=False,
            additional_parameters=extra,
        )
        (folder / "slurm").mkdir(exist_ok=True)
        srun = [
            "srun",
            "--unbuffered",
            f"--cpus-per-task={self.cpus}",
            f"--error={folder / 'logs' / '$group.log'}",
        ]
        words = [*srun, *command(group_file, folder)]
        line = " ".join(_quoted(word) for word in words)
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # the exception has the same text
                job = executor._submit_command(line)  # submitit's public methods pickle functions
                return job.job_id
        except RuntimeError as e:
            raise UserError(f"Slurm does not take the run groups: {one_line(e)}.") from e


class _SlurmTasks:
    """Follows tasks until they have ended.

    The queue lists the waiting and running tasks, and accounting has the states of ended ones.
    """

    def __init__(self, launcher: Slurm, folder: Path, on_event: OnEvent):
        self.launcher, self.folder, self.on_event = launcher, folder, on_event
        self.tasks: dict[str, Path] = {}  # Slurm's id, as in 17_3 -> the run group
        self.seen: dict[str, _slurm_queue.InQueue] = {}  # the latest state of each task
        self.watch = Watch(folder, on_event)

    def __enter__(self) -> "_SlurmTasks":
        return self

    def __exit__(self, *exception: object) -> None:
        """Cancel the remaining tasks after Ctrl-C; running ones receive SIGTERM and save."""
        if self.tasks:
            arrays = {task.partition("_")[0] for task in self.tasks}
            subprocess.run(["scancel", *sorted(arrays)], check=False)

    def submit(self, group_files: Sequence[Path]) -> None:
        # Before the array exists, because its tasks may write progress at once.
        for file in group_files:
            self.watch.begin(file)
        array = self.launcher.submit(group_files, self.folder)
        for i, file in enumerate(group_files):
            self.tasks[f"{array}_{i}"] = file
            self.on_event(file.stem, {"event": "queued", "job": f"{array}_{i}"})

    def until_ended(self) -> dict[str, int]:
        while self.tasks:
            raise_if_interrupted()
            time.sleep(_LOOK_AGAIN)
            queue = _slurm_queue.queue()
            if queue is None:  # Slurm did not answer
                for task, file in self.tasks.items():
                    self._report(task, file, self._last_seen(task))
                continue
            for task, file in self.tasks.items():
                # It keeps its count: with 0, a task that enters the queue again seems restarted.
                absent = _slurm_queue.InQueue("", self._last_seen(task).restarts)
                self._report(task, file, queue.get(task, absent))
            gone = [task for task in self.tasks if task not in queue]
            # A task enters the accounts some seconds after it has left the queue. Until then it has
            # no status, stays in `tasks`, and is looked up again.
            if gone:
                for task, status in _slurm_queue.ended(gone).items():
                    self._end(task, status)
        return self.watch.statuses

    def _last_seen(self, task: str) -> _slurm_queue.InQueue:
        return self.seen.get(task, _slurm_queue.InQueue("", 0))

    def _report(self, task: str, file: Path, now: _slurm_queue.InQueue) -> None:
        """Report the changes of a task since the last look.

        A restart shows in the count: the time in the queue may be shorter than between two looks.
        """
        before = self._last_seen(task)
        self.seen[task] = now
        restarted = now.restarts > before.restarts
        if restarted:
            self.on_event(file.stem, {"event": "left"})
        if now.state == "RUNNING" and (restarted or before.state != "RUNNING"):
            self.on_event(file.stem, {"event": "started"})
        if now.state == "PENDING":
            return  # its last progress would show it as running
        self.watch.follow(file)

    def _end(self, task: str, status: int) -> None:
        file = self.tasks.pop(task)
        error = None
        try:
            # A task has LATER if the cluster does not allow tasks to requeue.
            may_retry = status != _slurm_queue.CANCELLED
            if self.watch.starts_again(file, status, may_retry=may_retry):
                self.submit([file])
                return
        except UserError as e:  # Slurm rejects the new task; the others go on
            error = str(e)
        self.watch.end(file, status, error)


def _quoted(word: str) -> str:
    """Quote a word for the shell, which still replaces $group by the run group's id."""
    # An empty part must stay empty: quoted, it would be ''.
    parts = [shlex.quote(part) if part else "" for part in word.split("$group")]
    return "$group".join(parts)
