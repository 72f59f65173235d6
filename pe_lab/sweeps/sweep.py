"""Running a study: missing runs are trained group by group; finished runs are left alone."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.records.evaluation_points import is_done
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.run import Run, RunGroup, from_record
from pe_lab.runs.studies import study_files, study_labels
from pe_lab.runs.studies.analysis_spec import SEED_AXES
from pe_lab.runs.system import files
from pe_lab.sweeps import plans
from pe_lab.sweeps import study as studies
from pe_lab.sweeps.launchers.base import TIME_LIMIT, Event, Launcher
from pe_lab.sweeps.plans import Plan
from pe_lab.sweeps.progress import Progress
from pe_lab.sweeps.time_left import GroupPlan
from pe_lab.training.run_records import write_failure


def run(todo: Plan, launcher: Launcher) -> dict[str, str]:
    """Train the missing runs; a failing run group never stops the others.

    Returns:
      One sentence for each failed run, by run id.
    """
    _prepare(todo)
    names = {}
    for entry in todo.study.entries:
        names[entry.run.run_id] = _name(entry.labels) or todo.study.name
    group_plans = {}
    for group in todo.groups:
        label = names[group.run.run_id]
        group_plans[group.group_id] = plans.group_plan(group, label, todo.setups)
    planned = sum(len(group.runs) for group in todo.groups)
    done = len(todo.study.runs) - planned
    return _train(todo.groups, group_plans, done, todo.folder, launcher)


def write_groups(todo: Plan) -> list[Path]:
    """Write the files of the run groups in the order in which they can train.

    Damaged records are set aside first. Nothing is started.
    """
    _prepare(todo)
    group_files = []
    for wave in studies.waves(todo.groups):
        group_files += [run_group_files.write(group, todo.folder) for group in wave]
    return group_files


def _prepare(todo: Plan) -> None:
    run_group_files.check_folders(todo.folder)
    files.remove_remains(todo.folder)
    for path in todo.damaged:
        records.set_aside(path)
    todo.study.write(todo.folder)


def retry(folder: Path, launcher: Launcher) -> dict[str, str]:
    """Train the failed runs of a study again, with the configs of their records.

    Damaged records are set aside first, because a run group may have runs of both kinds.

    Returns:
      One sentence for each run that failed again, by run id.

    Raises:
      UserError: there is no study, it is damaged, or a folder of it is a link.
    """
    run_group_files.check_folders(folder)
    study = study_files.read(folder)
    names = {run_id: _name(labels) or study.name for labels, run_id in study.entries}
    by_id, damaged = records.read_intact(folder)
    study_labels.check(folder, study.entries, by_id)
    for path in damaged:
        records.set_aside(path)
    # In the order of the study, because the id of a run group depends on the order of its runs.
    study_runs = _runs_of(folder, list(names), by_id)
    failed = [run_id for run_id in names if run_id in by_id and by_id[run_id]["status"] == "failed"]
    # Runs that began together continue together, from their checkpoint.
    begun = plans.begun_groups(folder, study_runs, failed, by_id)
    planned = {*failed, *itertools.chain(*begun)}
    groups = studies.groups([run for run in study_runs if run.run_id in planned], begun)
    group_plans = {}
    for group in groups:
        label = names.get(group.run.run_id, group.group_id)
        # An encoding that cannot be built has no setup.
        group_plans[group.group_id] = plans.group_plan(group, label, setups=None)
    others = [by_id[run_id] for run_id in names if run_id in by_id and run_id not in planned]
    done = sum(record["status"] == "finished" for record in others)
    return _train(groups, group_plans, done, folder, launcher)


def _runs_of(folder: Path, run_ids: Sequence[str], by_id: Mapping[str, Record]) -> list[Run]:
    """The runs with these ids that have a record or belong to a written run group."""
    known: dict[str, Run] = {}
    for file in run_group_files.paths(folder):
        try:
            known |= {run.run_id: run for run in run_group_files.unchecked_runs(file)}
        except (OSError, ValueError, KeyError):  # a group of an older version, or a damaged file
            continue
    known |= {run_id: from_record(record["config"]) for run_id, record in by_id.items()}
    return [known[run_id] for run_id in run_ids if run_id in known]


def _name(labels: dict[str, str]) -> str:
    """The name of a variant in progress lines."""
    words = [text for axis, text in labels.items() if axis not in SEED_AXES]
    return " ".join(filter(None, words))


def _train(
    groups: Sequence[RunGroup],
    group_plans: dict[str, GroupPlan],
    done: int,
    folder: Path,
    launcher: Launcher,
) -> dict[str, str]:
    """Train run groups wave by wave; one sentence for each failed run.

    Args:
      done: number of runs of the study that are finished already.
    """
    by_id = {group.group_id: group for group in groups}

    def on_event(group_id: str, event: Event) -> None:
        if event["event"] == "ended":
            event = _ended(event, by_id[group_id], folder)
        progress.event(group_id, event)

    statuses: dict[str, int] = {}
    with Progress(group_plans, done) as progress:
        # A child reads the checkpoint of its parent, which must have ended before the wave starts.
        for wave in studies.waves(groups):
            group_files = [run_group_files.write(group, folder) for group in wave]
            statuses |= launcher.launch(group_files, folder, on_event)
    failures = {}
    for group in groups:
        status = statuses.get(group.group_id)
        for run in group.runs:
            if not _is_recorded(run, folder):
                failures[run.run_id] = _failure(run, folder, group.group_id, status)
    return failures


def _is_recorded(run: Run, folder: Path) -> bool:
    """Whether a run has a complete record. This alone decides, and no exit status of a worker."""
    try:
        return is_done(run, records.read_run(folder, run.run_id))
    except UserError:  # the record is damaged, or was measured on other examples
        return False


def _ended(event: Event, group: RunGroup, folder: Path) -> Event:
    """The event of a run group that has ended, as its records have it."""
    if all(_is_recorded(run, folder) for run in group.runs):
        return {**event, "status": 0}
    if event["status"] == 0:
        return {"error": _how(0), **event, "status": 1}
    if event["status"] == TIME_LIMIT:
        return {"error": _how(TIME_LIMIT), **event}
    return event


def _how(status: int | None) -> str:
    """How the worker of a run without a complete record ended, in words."""
    if status is None:
        return "its worker was not started"
    if status == TIME_LIMIT:
        return "its run group took longer than config.execution.time_limit"
    if status < 0:
        return f"its worker was killed by signal {-status}"
    if status == 0:
        return "its worker ended with status 0 and left no complete record"
    return f"its worker ended with status {status}"


def _failure(run: Run, folder: Path, group_id: str, status: int | None) -> str:
    """The reason of a failure; a worker that was killed or never started could not record it."""
    path = records.path_of(folder, run.run_id)
    log = folder / "logs" / f"{group_id}.log"
    sentence = f"{_how(status)}: see {log}"
    try:
        # A process that ended by itself with an error has recorded it.
        if status is None or status <= 0 or not path.exists():
            write_failure(run, folder, sentence)
        error = records.read(path)["error"] or sentence
        has_log = log.exists() and log.stat().st_size > 0
        if has_log and str(log) not in error:
            return f"{error}; see {log}"
        return error
    except (OSError, UserError) as e:  # the disk is full, or the record is damaged, perhaps
        return f"{sentence}; and that could not be recorded ({one_line(e)})"
