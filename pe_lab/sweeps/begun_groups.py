"""Run groups that a folder has begun.

Checkpoints and locks belong to a run group, that is, to the exact list of its runs. A study that
grows (more seeds, more test lengths) would form other groups, which would not find the checkpoints
of their runs. Therefore runs that began together stay together.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import run_group_files
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.run import Run

Members = tuple[str, ...]  # run ids, in the order of the group


def of(
    folder: Path,
    study_runs: Sequence[Run],
    unfinished: Collection[str],
    by_id: Mapping[str, Record],
) -> list[Members]:
    """Return the members of each begun group that has an unfinished run, each run once.

    Args:
      unfinished: run ids without a complete record.
      by_id: the records of the folder.

    Raises:
      UserError: a finished run lacks evaluations, and its parameters cannot be found.
    """
    study_ids = {run.run_id for run in study_runs}
    unfinished_ids = set(unfinished)
    begun: list[Members] = []
    taken: set[str] = set()
    for members in _started(folder, unfinished, by_id):
        # A group always trains all its members, so the study must still have each of them. Of
        # groups that share a run, only the first one is continued.
        is_usable = study_ids.issuperset(members) and taken.isdisjoint(members)
        if is_usable and not unfinished_ids.isdisjoint(members):
            begun.append(members)
            taken.update(members)
    # A finished run is not trained again: its new evaluations need the parameters of its group.
    for run_id in unfinished:
        if run_id in by_id and by_id[run_id]["status"] == "finished" and run_id not in taken:
            raise UserError(
                f"The run {run_id} has finished and lacks evaluations of this study, and its "
                f"parameters are gone or belong to a group with runs that the study no longer "
                f"has. Use pe-lab evaluate, or give another --results to train it again."
            )
    return begun


def _started(
    folder: Path, unfinished: Collection[str], by_id: Mapping[str, Record]
) -> list[Members]:
    """The members of each group that a process trains now or that has a checkpoint.

    The groups of finished runs come first: only their checkpoints have the final parameters.
    """
    started: dict[str, Members] = {}
    for group in run_group_files.each(folder):
        # A damaged checkpoint that was set aside, or one half written, is no number.
        names = (path.name for path in (folder / "checkpoints" / group.group_id).glob("*"))
        has_checkpoint = any(name.isdigit() for name in names)
        if group.is_held or has_checkpoint:
            started[group.group_id] = group.run_ids
    group_ids = []
    for run_id in unfinished:
        record = by_id.get(run_id)
        if record is not None and record["status"] == "finished" and record["checkpoint"]:
            group_ids.append(record["checkpoint"]["run_group"])
    group_ids += started
    return [started[group_id] for group_id in dict.fromkeys(group_ids) if group_id in started]
