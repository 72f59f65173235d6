"""Starts run groups as tasks of a Slurm job array, which submitit writes and submits.

It needs submitit: `.venv/bin/pip install -e '.[slurm]'`.

    python -m experiments.sweep --config=configs/mine.py --config.launcher.name=slurm \\
        --config.launcher.gpus=1

A task is the command that the local launcher runs. One that saves and leaves, asked by SIGTERM
before it is preempted or its time is up, puts itself back into the queue, whether the sweep still
runs or not. Of submitit's jobs only the script is used: its pickles of functions and results are
not, so nothing in a results folder is ever unpickled.
"""

import contextlib
import io
import os
import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab.runs import locks
from pe_lab.runs.errors import UserError, one_line
from pe_lab.sweeps.launchers.base import (
    Launcher,
    OnEvent,
    command,
    environment,
    json_object,
    one_thread,
)

_LOOK_AGAIN = 5.0  # seconds
_NOTICE = 60  # seconds before its time is up at which a task is asked to leave
_ARRAY = 1000  # tasks; Slurm's MaxArraySize is 1001 unless a cluster says otherwise
# and the number of a signal is the script's status for it: accounts show the shell's 128 + 9 as 9
_SIGNAL = 100
_KILLED, _CANCELLED = -9, -15
_KILLS = ("TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE")
_ENDED = {"COMPLETED": 0, "CANCELLED": _CANCELLED, **dict.fromkeys(_KILLS, _KILLED)}


class Slurm(Launcher):
    """Tasks of a cluster that keeps accounts (slurmdbd) and sees the results folder from all its
    machines.

    What has no argument here is given by Slurm's own variables: SBATCH_QOS, SBATCH_CONSTRAINT, …

    Args:
      workers: tasks at a time; None: as many as Slurm starts.
      partition: None: the cluster's default, as for the account and the memory.
      cpus: cores of a task.
      gpus: of a task.
      memory_gb: of a task.
      minutes: of a task; a run group that needs more goes on from its checkpoint in another.
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
        if cpus < 1 or gpus < 0 or minutes < 2 or (memory_gb is not None and memory_gb <= 0):
            raise ValueError(
                f"slurm needs cpus from 1, gpus from 0, minutes from 2, memory_gb above 0: got "
                f"{cpus}, {gpus}, {minutes}, {memory_gb}."
            )
        self.cpus = cpus
        memory = None if memory_gb is None else f"{round(memory_gb * 1024)}M"
        given = dict(
            time=minutes,
            cpus_per_task=cpus,
            gpus_per_node=gpus or None,
            mem=memory,
            partition=partition,
            account=account,
        )
        self.resources = {name: value for name, value in given.items() if value is not None}
        self.environment = one_thread() if cpus == 1 and not gpus else {}

    def at_once(self, groups: int) -> int:
        return self.workers or max(groups, 1)

    def launch(
        self, group_files: Sequence[Path], folder: Path, on_event: OnEvent
    ) -> dict[str, int]:
        _check_accounting()
        statuses: dict[str, int] = {}
        for first in range(0, len(group_files), _ARRAY):
            with _Watch(self, folder.absolute(), on_event) as watch:
                watch.submit(group_files[first : first + _ARRAY])
                statuses |= watch.until_ended()
        return statuses

    def submit(self, group_files: Sequence[Path], folder: Path) -> str:
        """Submits an array with a task a run group; its id."""
        executor = _submitit().SlurmExecutor(folder / "slurm")
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        array = f"0-{len(group_files) - 1}%{self.at_once(len(group_files))}"
        extra = dict(
            array=array,
            requeue=True,
            signal=f"TERM@{_NOTICE}",
            output=str(folder / "slurm" / "%A_%a.log"),
        )
        executor.update_parameters(
            **self.resources,
            job_name=f"pe_lab:{folder.name}",
            setup=[
                *(
                    f"export {name}={shlex.quote(value)}"
                    for name, value in {**environment(folder), **self.environment}.items()
                ),
                f"groups=({' '.join(file.stem for file in group_files)})",
                "group=${groups[$SLURM_ARRAY_TASK_ID]}",
            ],
            teardown=[
                "status=$?",
                f"if [ $status = {locks.LATER} ]; then scontrol requeue $SLURM_JOB_ID; fi",
                f"exit $((status > 128 ? status - 128 + {_SIGNAL} : status))",
            ],
            stderr_to_stdout=True,
            # our own says how many cores, which Slurm from 22.05 asks for, and where errors go
            use_srun=False,
            additional_parameters=extra,
        )
        (folder / "slurm").mkdir(exist_ok=True)
        *python, file, where = command(group_files[0].parent.absolute() / "$group.json", folder)
        srun = [
            "srun",
            "--unbuffered",
            f"--cpus-per-task={self.cpus}",
            f"--error={folder / 'logs' / '$group.log'}",
        ]
        line = " ".join(_quoted(word) for word in (*srun, *python, file, where))
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # what it prints is in its error too
                return executor._submit_command(
                    line
                ).job_id  # the way of submitit that pickles nothing
        except RuntimeError as e:
            raise UserError(f"Slurm does not take the run groups: {one_line(e)}.") from e


@dataclass(frozen=True)
class _InQueue:
    """A task in Slurm's queue."""

    state: str  # "" for one that is not there
    restarts: int


class _Watch:
    """Tasks until they have ended: the queue says which are there, accounting how one ended, its
    progress file what it said.
    """

    def __init__(self, launcher: Slurm, folder: Path, on_event: OnEvent):
        self.launcher, self.folder, self.on_event = launcher, folder, on_event
        self.tasks: dict[str, Path] = {}  # Slurm's id, as in 17_3 -> the run group
        self.seen: dict[str, _InQueue] = {}  # the tasks as they were seen last
        self.said: dict[str, Any] = {}  # run group -> what its progress file said last
        self.died: set[Path] = set()
        self.statuses: dict[str, int] = {}

    def __enter__(self) -> "_Watch":
        return self

    def __exit__(self, *exception: object) -> None:
        """Tasks that are left, after Ctrl-C, are cancelled: those that run are asked to save and
        leave.
        """
        if self.tasks:
            subprocess.run(
                ["scancel", *sorted({task.partition("_")[0] for task in self.tasks})], check=False
            )

    def submit(self, group_files: Sequence[Path]) -> None:
        self.said |= {
            file.stem: self._progress(file) for file in group_files
        }  # before any of them can say more
        array = self.launcher.submit(group_files, self.folder)
        for i, file in enumerate(group_files):
            self.tasks[f"{array}_{i}"] = file
            self.on_event(file.stem, {"event": "queued", "job": f"{array}_{i}"})

    def until_ended(self) -> dict[str, int]:
        while self.tasks:
            time.sleep(_LOOK_AGAIN)
            queue = _queue()
            for task, file in self.tasks.items():
                seen = self.seen.get(task, _InQueue("", 0))
                absent = _InQueue("", seen.restarts)
                self._report(task, file, seen if queue is None else queue.get(task, absent))
            if queue is not None and (gone := [task for task in self.tasks if task not in queue]):
                for task, status in _ended(gone).items():
                    self._end(task, status)
        return self.statuses

    def _report(self, task: str, file: Path, now: "_InQueue") -> None:
        """What a task has done since it was looked at last.

        A restart shows in the count: the time in the queue may be shorter than between two looks.
        """
        before, self.seen[task] = self.seen.get(task, _InQueue("", 0)), now
        restarted = now.restarts > before.restarts
        if restarted:
            self.on_event(file.stem, {"event": "left"})
        if now.state == "RUNNING" and (restarted or before.state != "RUNNING"):
            self.on_event(file.stem, {"event": "started"})
        if (
            now.state != "PENDING"
            and (said := self._progress(file))
            and said != self.said[file.stem]
        ):
            self.said[file.stem] = said
            self.on_event(file.stem, said)

    def _progress(self, file: Path) -> dict[str, Any] | None:
        with contextlib.suppress(OSError):
            return json_object((self.folder / "progress" / file.name).read_text(encoding="utf-8"))
        return None

    def _end(self, task: str, status: int) -> None:
        file = self.tasks.pop(task)
        ended: dict[str, Any] = {"event": "ended", "status": status}
        try:
            if status == locks.LATER:  # of a cluster that puts nothing back into its queue
                self.on_event(file.stem, {"event": "left"})
                return self.submit([file])
            if status < 0 and status != _CANCELLED and file not in self.died:
                self.on_event(file.stem, {"event": "died", "signal": -status})
                self.died.add(file)
                return self.submit([file])
        except UserError as e:  # Slurm takes it no more; the others go on
            ended["error"] = str(e)
        self.statuses[file.stem] = status
        self.on_event(file.stem, ended)
        return None


def _quoted(word: str) -> str:
    """For the shell, which still puts the run group's id in place of $group."""
    return "$group".join(shlex.quote(part) if part else "" for part in word.split("$group"))


def _submitit() -> Any:
    try:
        import submitit
    except ImportError as e:
        command = ".venv/bin/pip install -e '.[slurm]'"
        raise UserError(f"The slurm launcher needs submitit: {command}.") from e
    return submitit


def _asked(*words: str) -> str | None:
    """What a command of Slurm answers; None while it does not."""
    with contextlib.suppress(OSError):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None
    return None


def _check_accounting() -> None:
    _submitit()
    if _asked("squeue", "--version") is None:
        raise UserError("There is no Slurm here: squeue cannot be run.")
    if _asked("sacct", "-n", "-X") is None:
        raise UserError(
            "This Slurm keeps no accounts (sacct fails), and the slurm launcher could not tell "
            "how a task ended: use --write_groups."
        )


def _queue() -> dict[str, _InQueue] | None:
    """Every task of this user that waits or runs; None while Slurm does not answer."""
    columns = "--Format=JobArrayID:40,State:20,RestartCnt:10"
    text = _asked("squeue", "--noheader", "--array", f"--user={os.getuid()}", columns)
    if text is None:
        return None
    rows = (line.split() for line in text.splitlines())
    return {task: _InQueue(state, int(restarts)) for task, state, restarts in rows}


def _ended(tasks: Sequence[str]) -> dict[str, int]:
    """How tasks that have left the queue ended, as launchers say it; without those that are not yet
    in the accounts.
    """
    arrays = ",".join({task.partition("_")[0] for task in tasks})
    found = _asked("sacct", "--parsable2", "-X", "-o", "JobID,State,ExitCode", "-j", arrays)
    if not found:
        return {}
    accounts = _submitit().slurm.slurm.SlurmInfoWatcher().read_info(found)
    return {
        task: status for task in tasks if (status := _status(accounts.get(task, {}))) is not None
    }


def _status(account: dict[str, str]) -> int | None:
    state = account.get("State", "").partition(" ")[0]  # CANCELLED by 0
    if state != "FAILED":
        return _ENDED.get(state)
    code, signal = map(int, account["ExitCode"].split(":"))  # of the script
    if _SIGNAL < code <= _SIGNAL + 25:
        return _SIGNAL - code
    return -signal or code or 1
