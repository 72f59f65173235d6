"""Slurm's commands: the queue, the accounts, and the exit statuses of ended tasks."""

import contextlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from pe_lab.runs.errors import UserError

# The script ends with this plus the number of a signal: accounts show the shell's 128 + 9 as 9.
SIGNAL = 100
_KILLED, CANCELLED = -9, -15  # CANCELLED: by a user or a script, so it is not tried again
# Another try may succeed after these states, so they count as a death, which is tried once more.
_KILLS = ("TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE")
_ENDED = {"COMPLETED": 0, "CANCELLED": CANCELLED, **dict.fromkeys(_KILLS, _KILLED)}


@dataclass(frozen=True)
class InQueue:
    """A task in Slurm's queue."""

    state: str  # "" for a task that is not in the queue
    restarts: int


def submitit_module() -> ModuleType:
    try:
        import submitit
    except ImportError as e:
        command = "pip install 'pe_lab[slurm]'"
        raise UserError(f"The slurm launcher needs submitit: {command}.") from e
    return submitit


def _output(*words: str) -> str | None:
    """The output of a Slurm command; None if it fails."""
    with contextlib.suppress(OSError):  # the command does not exist
        process = subprocess.run(words, capture_output=True, text=True, check=False)
        return process.stdout if process.returncode == 0 else None
    return None


def check_accounting() -> None:
    submitit_module()
    if _output("squeue", "--version") is None:
        raise UserError("There is no Slurm here: squeue cannot be run.")
    if _output("sacct", "-n", "-X") is None:
        raise UserError(
            "This Slurm keeps no accounts (sacct fails), and the slurm launcher could not tell "
            "how a task ended: use --write-groups."
        )


def queue() -> dict[str, InQueue] | None:
    """Every task of this user that waits or runs; None while Slurm does not answer."""
    # squeue cuts values at these widths, and puts no space after a value that fills its width.
    columns = "--Format=JobArrayID:40,State:20,RestartCnt:10"
    # Without --array, the waiting tasks of an array share one line.
    text = _output("squeue", "--noheader", "--array", f"--user={os.getuid()}", columns)
    if text is None:
        return None  # not {}, after which all tasks would seem to have left the queue
    tasks = {}
    for line in text.splitlines():
        task, state, restarts = line.split()
        tasks[task] = InQueue(state, int(restarts))
    return tasks


def ended(tasks: Sequence[str]) -> dict[str, int]:
    """The exit statuses of tasks that have left the queue; tasks may enter the accounts late."""
    arrays = ",".join({task.partition("_")[0] for task in tasks})
    table = _output("sacct", "--parsable2", "-X", "-o", "JobID,State,ExitCode", "-j", arrays)
    if not table:
        return {}  # no answer: the next look asks again
    watcher = submitit_module().slurm.slurm.SlurmInfoWatcher()
    accounts = watcher.read_info(table)
    statuses = {}
    for task in tasks:
        status = status_of(accounts.get(task, {}))
        if status is not None:
            statuses[task] = status
    return statuses


def status_of(account: dict[str, str]) -> int | None:
    state = account.get("State", "").partition(" ")[0]  # CANCELLED by 0
    if state != "FAILED":
        return _ENDED.get(state)  # None: it has not ended, as in RUNNING or REQUEUED
    code, signal = map(int, account["ExitCode"].split(":"))  # of the script
    # Up to 125: with 126 and 127 the shell reports a command that cannot be run or found.
    if SIGNAL < code <= SIGNAL + 25:
        return SIGNAL - code
    return -signal or code or 1  # never 0, because the state is FAILED
