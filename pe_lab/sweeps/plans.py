"""The plan of a sweep: which runs of a study are missing, and in which groups they will train."""

import itertools
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax

from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.records.evaluation_points import is_done
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.run import Run, RunGroup
from pe_lab.runs.studies import study_files
from pe_lab.runs.system import terminal
from pe_lab.sweeps import changed_code
from pe_lab.sweeps import study as studies
from pe_lab.sweeps.setups import Setups
from pe_lab.sweeps.study import ExpandedStudy
from pe_lab.sweeps.time_left import GroupPlan
from pe_lab.training.costs import evaluation_flops, step_flops
from pe_lab.training.parents import check_parent
from pe_lab.training.warm_start import overridden

# For estimates of time only, from the records of published/quickstart: one core's rate over
# unpadded FLOPs, and a worker's seconds for each program: a share of its start and the compilation.
_FLOPS_PER_SECOND = 2.9e10
_SECONDS_A_PROGRAM = 7
_SETUP_PROGRAMS = 2  # the first state and training
_SECONDS_A_STEP = 0.01  # of one member
Members = tuple[str, ...]  # run ids, in the order of the group


@dataclass(frozen=True)
class Plan:
    """The missing runs of a study's folder.

    Attributes:
      missing: number of runs without a complete record.
      changed_code: a note on the runs whose code has changed since they were trained.
      damaged: unreadable records and the reasons; they are set aside, and their runs trained again.
      setups: the built setups, with one for each run group.
    """

    study: ExpandedStudy
    folder: Path
    groups: tuple[RunGroup, ...]
    missing: int
    changed_code: str | None
    damaged: dict[Path, str]
    setups: Setups

    @property
    def summary(self) -> str:
        """The numbers of points, runs and run groups."""
        done = len(self.study.runs) - self.missing
        points = _counted(len(self.study.entries), "point")
        runs = _counted(len(self.study.runs), "run")
        groups = _counted(len(self.groups), "run group")
        return (
            f"{self.study.name}: {points}, {runs}, {done} of them done\n"
            f"to train: {_counted(self.missing, 'run')} in {groups}"
        )

    def __str__(self) -> str:
        lines = [self.summary]
        names = {entry.run.run_id: entry.name for entry in self.study.entries}
        for group in self.groups:
            # Members of a group may be several variants, such as learning rates.
            variants = dict.fromkeys(names[run.run_id] for run in group.runs)
            members = _counted(len(group.runs), "member")
            lines.append(f"  {group.group_id}  {', '.join(variants)}: {members}")
        return "\n".join(lines)

    def duration(self, workers: int) -> str:
        """A rough time, with at most one worker for each run group."""
        workers = max(1, min(workers, len(self.groups)))
        group_plans = [group_plan(group, "", self.setups) for group in self.groups]
        seconds = sum(plan.seconds for plan in group_plans) / workers
        return f"roughly {terminal.duration(seconds)} with {_counted(workers, 'worker')}"

    def estimate(self, workers: int) -> str:
        """The number of programs, and a rough time with its assumptions."""
        programs = sum(map(_num_programs, self.groups))
        gigaflops = _FLOPS_PER_SECOND / 1e9
        return (
            f"{programs} programs to compile; {self.duration(workers)}, at {gigaflops:.0f} GFLOP/s "
            f"each and {_SECONDS_A_PROGRAM} s a program"
        )


def _num_programs(group: RunGroup) -> int:
    """The first state, training and evaluation, and one more evaluation for each override."""
    return 3 + len(group.run.evaluate.overrides)


def group_plan(group: RunGroup, label: str, setups: Setups | None) -> GroupPlan:
    """The planned time of a run group. Without setups, all steps have the same time."""
    num_members, steps = len(group.runs), group.run.train.steps
    step_seconds, evaluation_seconds = _SECONDS_A_STEP, 0.0
    if setups is not None:
        setup = setups.of(group.run)
        step_seconds = step_flops(setup) / _FLOPS_PER_SECOND
        evaluation_seconds = num_members * evaluation_flops(setup) / _FLOPS_PER_SECOND
    train_seconds = steps * num_members * step_seconds
    setup_seconds = float(_SECONDS_A_PROGRAM * _SETUP_PROGRAMS)
    num_evaluations = _num_programs(group) - _SETUP_PROGRAMS
    rest_seconds = evaluation_seconds + _SECONDS_A_PROGRAM * num_evaluations
    return GroupPlan(
        label, steps, num_members, train_seconds, setup_seconds, rest_seconds, evaluation_seconds
    )


def _counted(count: int, noun: str) -> str:
    plural = "" if count == 1 else "s"
    return f"{count} {noun}{plural}"


def make(study: ExpandedStudy, folder: Path) -> Plan:
    """Read a study's folder, and refuse runs that could not be trained before any starts.

    Raises:
      UserError: the folder cannot be written, it holds another study, a record is of another
        version, a run group cannot be built, or a trained run would be evaluated with other code.
    """
    _check_writable(folder)
    _check_name(study, folder)
    by_id, damaged = records.read_intact(folder)
    unfinished = [run for run in study.runs if not is_done(run, by_id.get(run.run_id))]
    _check_code(unfinished, by_id)
    unfinished_ids = [run.run_id for run in unfinished]
    begun = begun_groups(folder, study.runs, unfinished_ids, by_id)
    # A begun group goes on as a whole, also with members that have finished.
    planned = {*unfinished_ids, *itertools.chain(*begun)}
    groups = studies.groups([run for run in study.runs if run.run_id in planned], begun)
    # This process must not take an accelerator from its workers.
    jax.config.update("jax_platforms", "cpu")
    setups = Setups()
    for group in groups:
        setups.of(group.run)
    # Built here, so that an override that does not fit is refused before any training.
    for setup in setups.built():
        for override in setup.run.evaluate.overrides:
            overridden(setup, override)
    _check_parents(groups, folder)
    existing = [by_id[run.run_id] for run in study.runs if run.run_id in by_id]
    note = changed_code.note(existing)
    return Plan(study, folder, tuple(groups), len(unfinished), note, damaged, setups)


def _check_name(study: ExpandedStudy, folder: Path) -> None:
    """Refuse a folder with a study of another name, whose tables would be replaced."""
    try:
        name = study_files.read(folder).name
    except UserError:  # there is none, or its file is damaged and will be written again
        return
    if name != study.name:
        raise UserError(
            f"{folder} holds the study {name!r}: give another folder for {study.name!r}, "
            f"--results=FOLDER."
        )


def _check_parents(groups: list[RunGroup], folder: Path) -> None:
    """Check that the parent of each run is finished, or trained in an earlier group."""
    runs = [run for group in groups for run in group.runs]
    planned = {run.run_id: run for run in runs}
    for run in runs:
        if run.init_from is None:
            continue
        if (planned_parent := planned.get(run.init_from.run_id)) is not None:
            if not planned_parent.checkpoints.keep_final:
                raise UserError(
                    f"Runs of this study start from the run {planned_parent.run_id}, whose final "
                    f"parameters are removed: set checkpoints.keep_final=True."
                )
            continue
        parent_folder = study_files.folder_of(run.init_from.study, folder)
        parent = records.read_run(parent_folder, run.init_from.run_id)
        if parent is None or parent["checkpoint"] is None:
            raise UserError(
                f"The run {run.init_from.run_id} that {run.run_id} starts from has no parameters "
                f"in {parent_folder}."
            )
        check_parent(run, parent)


def _check_code(unfinished: Sequence[Run], by_id: dict[str, Record]) -> None:
    """Refuse to evaluate finished runs further with other code."""
    trained = [by_id[run.run_id] for run in unfinished if run.run_id in by_id]
    trained = [record for record in trained if record["status"] == "finished"]
    for run_id, names in changed_code.changed_plugins(trained).items():
        raise UserError(
            f"The run {run_id} lacks evaluations of this study, and the code of "
            f"{' and '.join(names)} has changed since it was trained: restore it, give another "
            "--results, or use pe-lab evaluate --allow-changed-code."
        )


def _check_writable(folder: Path) -> None:
    """Check that a folder can be written or made. A plan makes no folder."""
    try:
        above = (folder.absolute(), *folder.absolute().parents)
        existing = next(path for path in above if path.exists())
        if not existing.is_dir():
            raise NotADirectoryError(f"{existing} is no folder")
        if not os.access(existing, os.W_OK | os.X_OK):
            raise PermissionError(f"{existing} may only be read")
    except OSError as e:
        raise UserError(
            f"The results folder {folder} cannot be written ({one_line(e)}). Give another: "
            f"--results=FOLDER."
        ) from e


def begun_groups(
    folder: Path,
    study_runs: Sequence[Run],
    unfinished: Collection[str],
    by_id: Mapping[str, Record],
) -> list[Members]:
    """Return the members of each begun group that has an unfinished run, each run once.

    Checkpoints and locks belong to a run group, that is, to the exact list of its runs. A study
    that grows (more seeds, more test lengths) would form other groups, which would not find the
    checkpoints of their runs. Therefore runs that began together stay together.

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
