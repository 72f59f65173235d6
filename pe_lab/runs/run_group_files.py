"""The file from which a process trains a run group."""

import json
from pathlib import Path

from pe_lab.runs import config, older_records, records
from pe_lab.runs.run import RunGroup


def path_of(folder: Path, group_id: str) -> Path:
    """The file of a run group in a study's folder."""
    return folder / "groups" / f"{group_id}.json"


def write(group: RunGroup, folder: Path) -> Path:
    """Write the file of a run group into a study's folder."""
    file = path_of(folder, group.group_id)
    runs = [run.to_dict() for run in group.runs]
    run_ids = [run.run_id for run in group.runs]
    records.write_json(file, {"runs": runs, "run_ids": run_ids})
    return file


def read(file: Path) -> RunGroup:
    """A run group from its file."""
    content = json.loads(file.read_text(encoding="utf-8"))
    runs = []
    for values in content["runs"]:
        upgraded_values = older_records.upgrade_config(values)
        runs.append(config.from_dict(upgraded_values))
    return RunGroup(tuple(runs))
