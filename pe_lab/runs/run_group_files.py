"""The file from which a process trains a run group."""

import json
from pathlib import Path

from pe_lab.runs import config, older_records, records
from pe_lab.runs.record_schema import JsonObject
from pe_lab.runs.run import Run, RunGroup, from_record


def path_of(folder: Path, group_id: str) -> Path:
    """The file of a run group in a study's folder."""
    return folder / "groups" / f"{group_id}.json"


def later_mark(file: Path) -> Path:
    """The mark that the process of a run group's file leaves if it must be started again later.

    An exit status alone is no proof of this, because a plugin may end the process with any status.
    """
    return file.with_suffix(".later")


def write(group: RunGroup, folder: Path) -> Path:
    """Write the file of a run group into a study's folder."""
    file = path_of(folder, group.group_id)
    runs = [run.to_dict() for run in group.runs]
    run_ids = [run.run_id for run in group.runs]
    records.write_json(file, {"runs": runs, "run_ids": run_ids})
    return file


def read(file: Path) -> RunGroup:
    """A run group from its file; its runs are checked."""
    return RunGroup(tuple(config.from_dict(settings) for settings in _settings(file)))


def unchecked_runs(file: Path) -> list[Run]:
    """The runs of a file. Nothing is checked, and no encoding, scheme or task is imported."""
    return [from_record(settings) for settings in _settings(file)]


def _settings(file: Path) -> list[JsonObject]:
    content = json.loads(file.read_text(encoding="utf-8"))
    return [older_records.with_added_settings(values) for values in content["runs"]]
