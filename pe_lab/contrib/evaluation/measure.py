"""Evaluations of finished runs: they add rows to records, train nothing and overwrite nothing."""

import contextlib
import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import jax
import numpy as np
from jax.stages import Compiled
from jaxtyping import PyTree

from pe_lab.runs import config
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_rows, records, run_group_files
from pe_lab.runs.records.evaluation_points import EvaluationPoint, missing
from pe_lab.runs.records.record_schema import JsonObject, Record, RecordRow, Sources
from pe_lab.runs.run import RunGroup
from pe_lab.runs.settings.labels import agrees
from pe_lab.runs.specs import override_specs
from pe_lab.runs.system import locks
from pe_lab.sweeps import select as selection
from pe_lab.training import provenance
from pe_lab.training.build import build_setup
from pe_lab.training.checks import check_lengths
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.setup import Setup
from pe_lab.training.state import TrainState
from pe_lab.training.trained_runs import checkpoint_of, load_state
from pe_lab.training.warm_start import overridden

Records = dict[str, Record]  # by run id


@dataclasses.dataclass(frozen=True)
class EvaluationRequest:
    """The measurements to add, the same for every run.

    Attributes:
      lengths, offsets: their product is the grid.
      override: dict(positions=..., encodings=...) in place of the trained ones; None: no override.
      select: a part of the config of the runs to measure; see sweeps.select.
      only_missing: pass over the points that a run has measured already, instead of refusing.
      allow_changed_code: measure with code that has changed since; the new rows hold its digests.
    """

    lengths: Sequence[int]
    offsets: Sequence[int]
    override: JsonObject | None
    select: JsonObject
    only_missing: bool
    allow_changed_code: bool = False


@dataclasses.dataclass(frozen=True)
class Job:
    """The runs of one run group that lack some evaluation points.

    Attributes:
      chosen: their records by run id.
      points: the evaluation points that at least one of them lacks.
      sources: digests of the code that will measure.
    """

    group: RunGroup
    chosen: Records
    points: list[EvaluationPoint]
    sources: Sources


def add(
    folder: Path,
    request: EvaluationRequest,
    report: Callable[[str], None] = lambda line: None,
    begin: Callable[[], None] = lambda: None,
) -> int:
    """Measure, and add rows to the records of a study's finished runs.

    Args:
      begin: called after all checks, before each run group is measured.

    Returns:
      The number of runs with new rows.

    Raises:
      UserError: no run is selected, or one of them kept no parameters, refuses the override, has
        measured a point already, or was measured with other code; then nothing is measured.
    """
    run_group_files.check_folders(folder)
    chosen = _chosen(folder, request.select)
    # All jobs are checked before the first one is measured.
    jobs = [job for job in _jobs(folder, chosen, request) if job.points]
    num_runs = 0
    for number, job in enumerate(jobs, 1):
        num_measured = _measure(folder, job, begin)
        names = " + ".join(e.name for e in job.group.run.model.encodings) or "no encoding"
        report(
            f"{number} of {len(jobs)} run groups: {names}, {num_measured} runs measured at "
            f"{len(job.points)} evaluation points"
        )
        num_runs += num_measured
    return num_runs


@contextlib.contextmanager
def continued(
    folder: Path, request: EvaluationRequest
) -> Iterator[tuple[EvaluationRequest, Callable[[], None]]]:
    """Make the same command go on after a kill: then it passes over what it has measured.

    Yields the request and the `begin` of `add`. It leaves a mark in the folder, which is removed at
    the end of the command. A command that is refused leaves no mark, because it measured nothing.
    An error after the first measurement keeps the mark, as a kill does.
    """
    # With and without --only-missing a command has the same mark.
    words = json.dumps(dataclasses.asdict(request) | {"only_missing": None}, sort_keys=True)
    digest = hashlib.sha256(words.encode()).hexdigest()[:16]
    mark = run_group_files.progress_path(folder, f"evaluate-{digest}")
    if mark.exists():
        request = dataclasses.replace(request, only_missing=True)

    def write_mark() -> None:
        # With --only-missing the same command goes on without a mark.
        if not request.only_missing:
            records.write_json(mark, {"request": words})

    yield request, write_mark
    mark.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        mark.parent.rmdir()  # unless it has files


def _chosen(folder: Path, select: JsonObject) -> Records:
    """The finished records that a selection matches."""
    if not records.exist(folder):
        raise UserError(f"There are no records in {folder}: sweep the study first.")
    all_records = records.read_all(folder).items()
    finished = {run_id: r for run_id, r in all_records if r["status"] == "finished"}
    chosen = {}
    for run_id, record in finished.items():
        selection.check(select, record["config"])
        if agrees(select, record["config"]):
            chosen[run_id] = record
    if not chosen:
        raise UserError(
            f"The selection matches none of the {len(finished)} finished runs in {folder}."
        )
    return chosen


def _jobs(folder: Path, chosen: Records, request: EvaluationRequest) -> list[Job]:
    """One job for each run group.

    Raises:
      UserError: a run kept no parameters, or a run group cannot be measured as requested.
    """
    by_group: dict[str, Records] = {}
    for run_id, record in chosen.items():
        group_id = checkpoint_of(folder, record)["run_group"]
        group_records = by_group.setdefault(group_id, {})
        group_records[run_id] = record
    return [_job(group_records, request) for group_records in by_group.values()]


def _job(chosen: Records, request: EvaluationRequest) -> Job:
    runs = [config.from_dict(record["config"]) for record in chosen.values()]
    first = runs[0]
    override = None
    if request.override is not None:
        override = override_specs.override(request.override, first)
    # A length or an offset that is given twice is one point.
    pairs = dict.fromkeys(itertools.product(request.lengths, request.offsets))
    grid = [EvaluationPoint("test", length, offset, override) for length, offset in pairs]
    evaluate = dataclasses.replace(first.evaluate, lengths=tuple(request.lengths))
    run = dataclasses.replace(first, evaluate=evaluate)
    setup = build_setup(run, trained=False)
    check_lengths(setup)
    sources = setup.run.sources()
    if override is not None:
        overridden(setup, override)
        sources = setup.run.with_override(override).sources()
        for record in chosen.values():
            record_rows.check_label(record, override.to_dict())
    if not request.allow_changed_code:
        _check_code(chosen.values(), sources)
    for record in chosen.values():
        _check_data(record, setup)
    measured = [record_rows.measured_points(record, sources) for record in chosen.values()]
    for record, keys in zip(chosen.values(), measured, strict=True):
        for point in grid:
            if point.key() in keys and not request.only_missing:
                raise clash(record, point.row("", None, 0))
    return Job(RunGroup(tuple(runs)), chosen, missing(setup.run, grid, measured), sources)


def clash(record: Record, row: RecordRow) -> UserError:
    """Return the error for a row that a record has already."""
    override = "" if row["override"] is None else f" with {row['override']['label']}"
    point = f"{row['split']} length {row['length']} at offset {row['offset']}{override}"
    count = record_rows.measured_points(record)[record_rows.point_key(row)]
    return UserError(
        f"The run {record['run_id']} has measured {point} already, on {count} examples: nothing "
        f"is overwritten. With --only-missing, evaluate passes over such points."
    )


def _check_code(chosen: Iterable[Record], sources: Sources) -> None:
    """Refuse to measure records whose code differs from `sources`."""
    for record in chosen:
        changed_files = record_rows.changed_sources(record, sources)
        if changed_files:
            raise UserError(
                f"The code of {', '.join(changed_files)} has changed since the run "
                f"{record['run_id']} was trained or evaluated: restore it, or give "
                f"--allow-changed-code to mark the new rows."
            )


def _check_data(record: Record, setup: Setup) -> None:
    """Refuse to measure a run on another text than the one that it was trained on."""
    trained_on = record["provenance"].get("data")
    if trained_on is not None and trained_on != setup.data_digest:
        raise UserError(
            f"The text of {setup.run.task.name} has changed since the run {record['run_id']} was "
            f"trained: restore it."
        )


def _measure(folder: Path, job: Job, begin: Callable[[], None]) -> int:
    """Add the missing rows of each run; the number of runs that lacked some.

    Raises:
      UserError: another process trains or evaluates the run group.
    """
    first = next(iter(job.chosen.values()))
    state, group = load_state(folder, first)
    file = run_group_files.path_of(folder, checkpoint_of(folder, first)["run_group"])
    with locks.held(run_group_files.lock_of(file)) as is_ours:
        if not is_ours:
            raise UserError(
                f"Another process trains or evaluates the run {first['run_id']}: start again "
                f"with --only-missing when it has ended."
            )
        begin()
        return _measure_group(folder, job, state, group)


def _measure_group(folder: Path, job: Job, state: TrainState, group: RunGroup) -> int:
    # A selection may leave out members of the group, whose checkpoint holds all of them.
    members = [checkpoint_of(folder, record)["member"] for record in job.chosen.values()]
    # A restored array belongs to one device, and the evaluation may use several.
    params = jax.tree.map(lambda leaf: np.asarray(leaf)[members], state.params)

    def compiled(function: Callable, *args: PyTree) -> Compiled:
        return jax.jit(function).lower(*args).compile()

    setup = build_setup(group.run)
    lengths = sorted({point.length for point in job.points})
    evaluator = Evaluator(setup, lengths, compiled)
    chance_levels = evaluator.chance_levels(lengths)
    rows_by_member = evaluator.rows(params, job.points)
    now = provenance.of_start(group.run)
    num_measured = 0
    for run_id, rows in zip(job.chosen, rows_by_member, strict=True):
        # Another process may have added rows since the jobs were made.
        record = records.read(records.path_of(folder, run_id))
        extended = record_rows.extended(record, rows, chance_levels)
        if extended["rows"] != record["rows"]:
            origin = provenance.with_process(record["provenance"], now)
            records.write(folder, {**extended, "provenance": origin})
            num_measured += 1
    return num_measured
