"""Progress of a study (done, running, failed, left), read from its results folder alone."""

import statistics
from dataclasses import dataclass
from pathlib import Path

from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.records.run_group_files import WrittenGroup
from pe_lab.runs.studies import study_files, study_labels
from pe_lab.runs.studies.analysis_spec import SEED_AXES
from pe_lab.sweeps import changed_code

STATES = ("done", "running", "failed", "left")
_KEPT = ("run_id", "status", "error", "cost", "provenance")  # of a record, for a small memory


@dataclass(frozen=True)
class RunStatus:
    """One run of a study: its labels, its state, and its progress or the reason of a failure."""

    run_id: str
    label: str
    state: str
    about: str = ""


@dataclass(frozen=True)
class Status:
    """A study's folder as it is now."""

    name: str
    runs: tuple[RunStatus, ...]
    workers: int  # run groups that a process is training
    seconds_left: float | None  # with the present workers, or one; None: no run has a known speed
    changed_code: str | None  # a note on the runs whose code has changed since they were trained

    def count(self, state: str) -> int:
        return sum(run.state == state for run in self.runs)


def read(folder: Path) -> Status:
    """The status of the study in a folder.

    Raises:
      UserError: there is no study.
    """
    study = study_files.read(folder)
    damaged: dict[Path, str] = {}
    by_id: dict[str, JsonObject] = {}
    labels_check = study_labels.LabelCheck(folder, study.entries)
    for record in records.each(folder, damaged, only_heads=True):
        labels_check.add(record["run_id"], record["config"])
        by_id[record["run_id"]] = {key: value for key, value in record.items() if key in _KEPT}
    labels_check.finish()
    groups = list(run_group_files.each(folder))
    group_of: dict[str, WrittenGroup] = {}
    for group in groups:
        for run_id in group.run_ids:
            # A run may be in several groups, such as one of a smaller study. The progress of an old
            # group says nothing about a run that has a record.
            is_new = run_id not in by_id and run_id not in group_of
            if group.is_held or is_new:
                group_of[run_id] = group
    texts = {}
    for labels, run_id in study.entries:
        texts[run_id] = " ".join(_words(axis, label) for axis, label in labels.items() if label)
    runs = []
    for run_id, label in texts.items():
        present = by_id.get(run_id)
        latest_group = group_of.get(run_id)
        if present is not None and present["status"] != "failed":
            runs.append(RunStatus(run_id, label, "done", present["error"] or ""))
        elif latest_group is not None and latest_group.is_held:
            runs.append(RunStatus(run_id, label, "running", _about(latest_group, run_id)))
        elif present is not None:
            runs.append(RunStatus(run_id, label, "failed", present["error"] or ""))
        else:
            reason = "" if latest_group is None else _about(latest_group, run_id)
            if records.path_of(folder, run_id) in damaged:
                reason = "its record is damaged"
            runs.append(RunStatus(run_id, label, "left", reason))
    running = [group for group in groups if group.is_held]
    study_records = [by_id[run_id] for _, run_id in study.entries if run_id in by_id]
    seconds_left = _seconds_left(runs, running, list(by_id.values()))
    note = changed_code.note(study_records)
    return Status(study.name, tuple(runs), len(running), seconds_left, note)


def _words(axis: str, label: str) -> str:
    """The label of a run in words: "rope", but "seed 0"."""
    return f"{axis.replace('_', ' ')} {label}" if axis in SEED_AXES else label


def _about(group: WrittenGroup, run_id: str) -> str:
    """The progress of one of the runs of a group in words."""
    if "step" not in group.progress:
        return "compiling" if group.is_held else ""
    steps = f"step {group.progress['step']} of {group.steps}"
    losses = group.progress.get("losses")
    if not isinstance(losses, list) or len(losses) != len(group.run_ids):
        return steps
    loss = losses[group.run_ids.index(run_id)]
    return f"{steps}, loss {loss:.4f}" if isinstance(loss, float) else steps


def _training_left(group: WrittenGroup) -> float | None:
    """The seconds left for the training of a group; None while its speed is unknown."""
    rate = group.progress.get("steps_per_second")
    if not rate:
        return None
    steps = group.steps - group.progress.get("step", 0)
    return steps * len(group.run_ids) / rate


def _seconds_left(
    runs: list[RunStatus],
    running: list[WrittenGroup],
    finished: list[JsonObject],
) -> float | None:
    """The time left: running groups by their own speed, waiting runs by the mean of finished ones.

    Returns:
      Seconds with the present number of workers, at least one; None if a speed is unknown.
    """
    waiting = sum(run.state == "left" for run in runs)
    costs = []
    for record in finished:
        cost = record["cost"]
        if cost:  # a failed run has none
            costs.append(cost["train_seconds"] + cost["compile_seconds"])
    seconds_of_groups = [left for group in running if (left := _training_left(group)) is not None]
    if (waiting and not costs) or (running and not seconds_of_groups):
        return None
    seconds = sum(seconds_of_groups)
    if waiting:
        seconds += waiting * statistics.fmean(costs)
    return seconds / max(1, len(running))
