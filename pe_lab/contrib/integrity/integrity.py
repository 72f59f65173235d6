"""Check of a results folder: study.json, records, archive, run groups and checkpoints."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.studies import study_files, study_labels
from pe_lab.runs.system import files
from pe_lab.training import checkpoint


def problems(folder: Path) -> Iterator[str]:
    """Yield one sentence for each problem of a study's folder. Nothing is changed.

    A run without a record is a problem in a published study only, because others may be unfinished.
    """
    by_id: dict[str, Record] = {}
    try:
        by_id, damaged = records.read_intact(folder)
        yield from damaged.values()
        yield from _replaced(folder)
    except UserError as e:  # the archive is damaged, or a record is of another version
        yield str(e)
    try:
        study = study_files.read(folder)
        study_labels.check(folder, study.entries, by_id)
        yield from _missing(folder, study, by_id)
    except UserError as e:
        yield str(e)
    yield from _run_groups(folder)
    yield from _checkpoints(folder)
    yield from _lost_checkpoints(folder, by_id)


def _replaced(folder: Path) -> Iterator[str]:
    """Yield the runs whose record in the archive differs from the file that is read instead."""
    for archived in records.read_archive(folder):
        path = records.path_of(folder, archived["run_id"])
        if not path.exists():
            continue
        try:
            record = records.read(path)
        except UserError:  # it is damaged, which is reported
            continue
        # Not their digests: one of them may be of an older version with fewer settings.
        if record | {"digest": ""} != archived | {"digest": ""}:
            yield (
                f"The record {path} differs from the one of this run in "
                f"{folder / records.ARCHIVE}; it is the one that is read."
            )


def _missing(
    folder: Path, study: study_files.StudyFile, by_id: Mapping[str, Record]
) -> Iterator[str]:
    """Yield the runs of a published study that have no record."""
    if not (folder / records.ARCHIVE).exists() or not by_id:  # {}: its damage is reported
        return
    for run_id in dict.fromkeys(run_id for _, run_id in study.entries):
        if run_id not in by_id:
            yield f"{folder / records.ARCHIVE} has no record of the run {run_id}."


def _run_groups(folder: Path) -> Iterator[str]:
    for file in run_group_files.paths(folder):
        try:
            run_group_files.unchecked_runs(file)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
            yield f"The run group {file} is damaged ({one_line(e)}). The next sweep writes it."


def _checkpoints(folder: Path) -> Iterator[str]:
    """Yield the damaged checkpoints of all run groups, including the points of curves."""
    groups = folder / "checkpoints"
    for group_id in files.names_in(groups):
        for path in checkpoint.paths(groups / group_id):
            problem = _problem_of(path)
            # A training that goes on beside this has replaced it by a later one meanwhile.
            if problem is not None and path.exists():
                yield problem


def _problem_of(path: Path) -> str | None:
    try:
        checkpoint.check(path)
    except checkpoint.DamagedCheckpoint as e:
        return f"The checkpoint {path} is damaged ({one_line(e)})."
    except UserError as e:
        return str(e)
    return None


def _lost_checkpoints(folder: Path, by_id: Mapping[str, Record]) -> Iterator[str]:
    """Yield finished runs whose parameters are gone. A published study never has any."""
    if not (folder / "checkpoints").exists():
        return
    for run_id, record in by_id.items():
        saved_as = record["checkpoint"]
        if saved_as is None:
            continue
        path = folder / "checkpoints" / saved_as["run_group"] / str(saved_as["step"])
        if not path.exists():
            yield f"The checkpoint {path} of the finished run {run_id} is gone."
