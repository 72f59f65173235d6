"""The file from which a process trains a run group."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pe_lab.runs import config
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import older_records, records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.run import Run, RunGroup, from_record
from pe_lab.runs.system import files, locks


@dataclass(frozen=True)
class WrittenGroup:
    """A run group as its file describes it.

    Attributes:
      run_ids: in the order of the group.
      steps: of each run.
      is_held: whether a process trained or evaluated it when the file was read.
      progress: its latest event.
    """

    group_id: str
    run_ids: tuple[str, ...]
    steps: int
    is_held: bool
    progress: JsonObject


def path_of(folder: Path, group_id: str) -> Path:
    """The file of a run group in a study's folder."""
    return folder / "groups" / f"{group_id}.json"


def progress_path(folder: Path, group_id: str) -> Path:
    """The file of the latest event of a run group in a study's folder."""
    return folder / "progress" / f"{group_id}.json"


def read_progress(folder: Path, group_id: str) -> JsonObject:
    """Return the latest event of a run group; empty if its file is missing or damaged."""
    try:
        return files.read_object(progress_path(folder, group_id))
    except (OSError, ValueError):
        return {}


def paths(folder: Path) -> list[Path]:
    """The files of all run groups in a study's folder."""
    return sorted((folder / "groups").glob("*.json"))


def lock_of(file: Path) -> Path:
    """The lock that a process holds while it trains or evaluates the run group of a file."""
    return file.with_suffix(".lock")


def later_mark(file: Path) -> Path:
    """The mark that the process of a run group's file leaves if it must be started again later.

    An exit status alone is no proof of this, because a plugin may end the process with any status.
    """
    return file.with_suffix(".later")


def check_folders(folder: Path) -> None:
    """Check that records, logs and locks of a study are written into its own folder.

    A folder of checkpoints may be a link, to a larger disk, but none of its run groups.

    Raises:
      UserError: one of its folders is a link.
    """
    names = ("records", "groups", "progress", "logs", "slurm")
    for path in (*(folder / name for name in names), *(folder / "checkpoints").glob("*")):
        if path.is_symlink():
            raise UserError(
                f"{path} is a link, and pe_lab writes into the study's own folder alone: replace "
                f"the link by a folder."
            )


def write(group: RunGroup, folder: Path) -> Path:
    """Write the file of a run group into a study's folder."""
    file = path_of(folder, group.group_id)
    runs = [run.to_dict() for run in group.runs]
    run_ids = [run.run_id for run in group.runs]
    records.write_json(file, {"runs": runs, "run_ids": run_ids})
    return file


def each(folder: Path) -> Iterator[WrittenGroup]:
    """Yield the run groups of a study's folder, without those whose files cannot be read."""
    for file in paths(folder):
        try:
            content = files.read_object(file)
            run_ids = tuple(map(str, content["run_ids"]))
            steps = content["runs"][0]["train"]["steps"]
        except (OSError, ValueError, LookupError, TypeError):  # damaged, or of an older version
            continue
        progress = read_progress(folder, file.stem)
        yield WrittenGroup(file.stem, run_ids, steps, locks.is_held(lock_of(file)), progress)


def read(file: Path) -> RunGroup:
    """A run group from its file; its runs are checked."""
    return RunGroup(tuple(config.from_dict(settings) for settings in _settings(file)))


def unchecked_runs(file: Path) -> list[Run]:
    """The runs of a file. Nothing is checked, and no encoding, scheme or task is imported."""
    return [from_record(settings) for settings in _settings(file)]


def time_limit(file: Path) -> float | None:
    """Seconds that a process may take for the runs of a file; None: no limit, or a damaged file."""
    try:
        return unchecked_runs(file)[0].execution.time_limit
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _settings(file: Path) -> list[JsonObject]:
    content = json.loads(file.read_text(encoding="utf-8"))
    return [older_records.with_current_settings(values, file) for values in content["runs"]]
