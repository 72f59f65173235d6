"""What of a study is done, running, failed and left, read from its folder alone: whoever trains it,
and wherever.
"""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab.runs import locks, older_records, records, study_files
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import from_record
from pe_lab.sweeps import changed_code

STATES = ("done", "running", "failed", "left")


@dataclass(frozen=True)
class RunStatus:
    """One run of a study: its labels, its state, and of one that runs or failed how far or why."""

    run_id: str
    label: str
    state: str
    about: str = ""


@dataclass(frozen=True)
class Status:
    """A study's folder as it is now."""

    name: str
    runs: tuple[RunStatus, ...]
    workers: int  # run groups that a process is at
    seconds_left: (
        float | None
    )  # with as many workers as now, or one; None: nothing to reckon it from
    changed_code: str | None  # a note on the runs whose code has changed since they were trained

    def count(self, state: str) -> int:
        return sum(run.state == state for run in self.runs)


def read(folder: Path) -> Status:
    """The status of the study in a folder.

    Raises:
      UserError: there is no study.
    """
    name, entries = study_files.study_of(folder)
    damaged = records.damaged(folder)
    found = records.read_all(folder, without=damaged)
    groups = _groups(folder)
    of_run = {
        run_id: group
        for group in groups
        for run_id in group.run_ids
        if group.running or run_id not in found
    }
    runs = []
    for run_id, label in {
        run_id: " ".join(filter(None, labels.values())) for labels, run_id in entries
    }.items():
        record, group = found.get(run_id), of_run.get(run_id)
        if record is not None and record["status"] != "failed":
            runs.append(RunStatus(run_id, label, "done", record["error"] or ""))
        elif group is not None and group.running:
            runs.append(RunStatus(run_id, label, "running", group.about))
        elif record is not None:
            runs.append(RunStatus(run_id, label, "failed", record["error"]))
        else:
            why = (
                "its record is damaged"
                if records.path_of(folder, run_id) in damaged
                else group.about
                if group
                else ""
            )
            runs.append(RunStatus(run_id, label, "left", why))
    running = [group for group in groups if group.running]
    known = [found[run_id] for _, run_id in entries if run_id in found]
    left = _seconds_left(runs, running, list(found.values()))
    return Status(name, tuple(runs), len(running), left, changed_code.note(known))


@dataclass(frozen=True)
class _Group:
    """A run group that a sweep has written, what its process said last, and whether there is
    one.
    """

    run_ids: tuple[str, ...]
    steps: int
    running: bool
    said: dict[str, Any]

    @property
    def about(self) -> str:
        if "step" not in self.said:
            return "compiling" if self.running else ""
        loss = self.said.get("loss")
        return f"step {self.said['step']} of {self.steps}" + (
            "" if loss is None else f", loss {loss:.4f}"
        )

    @property
    def seconds_left(self) -> float | None:
        """Of its training; None while it says no rate."""
        rate = self.said.get("steps_per_second")
        return (self.steps - self.said.get("step", 0)) * len(self.run_ids) / rate if rate else None


def _groups(folder: Path) -> list[_Group]:
    found = []
    for file in sorted((folder / "groups").glob("*.json")):
        group, said = _json(file), _json(folder / "progress" / file.name)
        if not group:
            continue
        run_ids = group.get("run_ids") or [
            from_record(older_records.upgrade_config(run)).run_id for run in group["runs"]
        ]
        found.append(
            _Group(
                tuple(run_ids),
                group["runs"][0]["train"]["steps"],
                _is_held(file.with_suffix(".lock")),
                said,
            )
        )
    return found


def _is_held(lock: Path) -> bool:
    if not lock.exists():
        return False
    try:
        with locks.held(lock) as free:
            return not free
    except OSError:  # a folder that may only be read
        return False


def _json(file: Path) -> dict[str, Any]:
    """What a file says; nothing if it is not there or not whole."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _seconds_left(
    runs: list[RunStatus], running: list[_Group], found: list[dict[str, Any]]
) -> float | None:
    """From what run groups that run say, and for runs that wait from the mean of those that are
    done.
    """
    waiting = sum(run.state == "left" for run in runs)
    costs = [r["cost"]["train_seconds"] + r["cost"]["compile_seconds"] for r in found if r["cost"]]
    known = [group.seconds_left for group in running if group.seconds_left is not None]
    if (waiting and not costs) or (running and not known):
        return None
    return (sum(known) + waiting * (statistics.fmean(costs) if waiting else 0.0)) / max(
        1, len(running)
    )


def folder_of(study: str) -> Path:
    """The folder that a study's name, or a path, means.

    Raises:
      UserError: the name is empty.
    """
    if not study:
        raise UserError("Which study? Give its name or its folder: --study=quickstart.")
    return Path(study) if "/" in study else Path("results") / study
