"""Evaluations added to finished runs: nothing is trained, nothing that is there is touched."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from pe_lab.runs import code_versions, config, record_rows, records
from pe_lab.runs.code_versions import Sources
from pe_lab.runs.errors import UserError
from pe_lab.runs.evaluation_points import EvaluationPoint
from pe_lab.runs.labels import agrees
from pe_lab.runs.run import RunGroup
from pe_lab.sweeps import select as selection
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.setup import build_setup
from pe_lab.training.trained_runs import load_state
from pe_lab.training.warm_start import overridden


@dataclasses.dataclass(frozen=True)
class Ask:
    """What to measure, for every run alike.

    Attributes:
      lengths, offsets: their product is the grid.
      change: dict(positions=..., encodings=...) in place of what was trained; None: nothing.
      select: a part of the config of the runs that are meant; see sweeps.select.
      only_missing: pass over what a run has measured already, instead of refusing.
      allow_changed_code: measure with code that has changed since; the new rows hold its digests.
    """

    lengths: Sequence[int]
    offsets: Sequence[int]
    override: Mapping[str, Any] | None
    select: Mapping[str, Any]
    only_missing: bool
    allow_changed_code: bool = False


@dataclasses.dataclass(frozen=True)
class Job:
    """The runs of one run group that lack some places."""

    group: RunGroup
    chosen: dict[str, dict[str, Any]]  # run_id -> record
    places: list[EvaluationPoint]
    sources: Sources  # digests of the code that will measure


def add(folder: Path, ask: Ask, report: Callable[[str], None] = lambda line: None) -> int:
    """Measures, and adds rows to the records of a study's finished runs.

    Returns:
      How many runs have gained rows.

    Raises:
      UserError: no run is meant, or one of them kept no parameters, refuses the change, has
        measured a place already, or was measured with other code; then nothing is measured.
    """
    chosen = _chosen(folder, ask.select)
    jobs = [job for job in _jobs(folder, chosen, ask) if job.places]
    count = 0
    for i, job in enumerate(jobs):
        gained = _measure(folder, job)
        names = " + ".join(e.name for e in job.group.run.model.encodings) or "no encoding"
        report(
            f"{i + 1} of {len(jobs)} run groups: {names}, {gained} runs measured at "
            f"{len(job.places)} "
            f"places"
        )
        count += gained
    return count


def _chosen(folder: Path, select: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The finished records that a selection means."""
    if not (folder / "records").is_dir():
        raise UserError(f"There are no records in {folder}: sweep the study first.")
    found = {
        run_id: record
        for run_id, record in records.read_all(folder).items()
        if record["status"] == "finished"
    }
    for record in found.values():
        selection.check(select, record["config"])
    chosen = {
        run_id: record for run_id, record in found.items() if agrees(select, record["config"])
    }
    if not chosen:
        raise UserError(f"None of the {len(found)} finished runs in {folder} is as selected.")
    for run_id, record in chosen.items():
        if record["checkpoint"] is None:
            raise UserError(
                f"The run {run_id} kept no final parameters: config.checkpoints.keep_final was "
                f"False."
            )
    return chosen


def _jobs(folder: Path, chosen: dict[str, dict[str, Any]], ask: Ask) -> list[Job]:
    """One job a run group, everything refused that could not be measured."""
    by_group: dict[str, dict[str, dict[str, Any]]] = {}
    for run_id, record in chosen.items():
        by_group.setdefault(record["checkpoint"]["run_group"], {})[run_id] = record
    return [_job(of_group, ask) for of_group in by_group.values()]


def _job(chosen: dict[str, dict[str, Any]], ask: Ask) -> Job:
    runs = [config.from_dict(record["config"]) for record in chosen.values()]
    override = None if ask.override is None else config.override(ask.override, runs[0])
    grid = [
        EvaluationPoint("test", *at, override)
        for at in dict.fromkeys(itertools.product(ask.lengths, ask.offsets))
    ]
    lengths = tuple(ask.lengths)
    asked = dataclasses.replace(
        runs[0], evaluate=dataclasses.replace(runs[0].evaluate, lengths=lengths)
    )
    setup = build_setup(asked, trained=False)
    if override is not None:
        overridden(setup, override)
    sources = setup.run.sources() if override is None else override.apply(setup.run).sources()
    if not ask.allow_changed_code:
        _check_code(chosen.values(), sources)
    known = [record_rows.measured_points(record, sources) for record in chosen.values()]
    for record, places in zip(chosen.values(), known, strict=True):
        for place in grid:
            if place.key in places and not ask.only_missing:
                raise record_rows.clash(record, place.row("", None, 0))
    missing = [place for place in grid if not all(place.key in places for places in known)]
    return Job(RunGroup(tuple(runs)), chosen, missing, sources)


def _check_code(chosen: Iterable[dict[str, Any]], sources: Sources) -> None:
    """Refuse to measure records whose code is not that of `sources`."""
    for record in chosen:
        if changed_files := code_versions.changed(record, sources):
            names = " and ".join(changed_files)
            raise UserError(
                f"The code of {names} has changed since the run {record['run_id']} was trained or "
                "evaluated: restore it, or give --allow_changed_code to mark the new rows."
            )


def _measure(folder: Path, job: Job) -> int:
    """Adds what each run lacks; how many lacked something."""
    first = next(iter(job.chosen.values()))
    state, group = load_state(folder, first)
    members = [record["checkpoint"]["member"] for record in job.chosen.values()]
    params = jax.tree.map(lambda leaf: leaf[jax.numpy.asarray(members)], state.params)
    lengths = sorted({place.length for place in job.places})
    evaluator = Evaluator(
        build_setup(group.run), lengths, lambda f, *args: jax.jit(f).lower(*args).compile()
    )
    measured = evaluator.chance_levels(lengths)
    gained = 0
    for record, rows in zip(job.chosen.values(), evaluator.rows(params, job.places), strict=True):
        known = record_rows.measured_points(record, job.sources)
        if new := [row for row in rows if record_rows.point_key(row) not in known]:
            records.write(folder, record_rows.extended(record, new, measured))
            gained += 1
    return gained
