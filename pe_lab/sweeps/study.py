"""A study: the runs that a sweep asks for, under the labels that tables show, and the cells they train in."""

import copy
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab import config, records
from pe_lab.config import Cell, Run
from pe_lab.errors import UserError, unknown
from pe_lab.sweeps.grid import Point


@dataclass(frozen=True)
class Entry:
    """One point of the sweep: its labels by axis, and the run that answers it."""

    labels: dict[str, str]
    run: Run


@dataclass(frozen=True)
class Study:
    """The entries of a sweep under its name."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def runs(self) -> list[Run]:
        """Every run once: NoPE under ten schemes is one run with ten entries."""
        return list({entry.run.run_id: entry.run for entry in self.entries}.values())

    def write(self, folder: Path) -> None:
        """Writes folder/study.json, which tells analysis the labels of each run."""
        entries = [{"labels": e.labels, "run_id": e.run.run_id} for e in self.entries]
        records.write_json(folder / "study.json", {"name": self.name, "entries": entries})


def expand(name: str, values: dict[str, Any], points: Sequence[Point]) -> Study:
    """Applies every point to a config's values.

    Raises:
      UserError: an axis that names no key, a value or argument that nothing takes, or no points.
    """
    if not points:
        raise UserError(f"The sweep of {name} has no points.")
    entries = []
    for point in points:
        changed = copy.deepcopy(values)
        for path, choice in point.items():
            _override(changed, path, copy.deepcopy(choice.value))
        entries.append(Entry({path: choice.label for path, choice in point.items()}, config.from_dict(changed)))
    _check_labels(points)
    _check_same_runs(entries)
    return Study(name, tuple(entries))


def _check_labels(points: Sequence[Point]) -> None:
    """One label, one value: under a shared label two variants would be averaged like seeds."""
    seen: dict[tuple[str, str], Any] = {}
    for point in points:
        for path, choice in point.items():
            if seen.setdefault((path, choice.label), choice.value) != choice.value:
                raise UserError(f"Two values of the axis {path!r} have the label {choice.label!r}: name them apart with grid.labelled.")


def _check_same_runs(entries: Sequence[Entry]) -> None:
    """What does not change the weights cannot tell runs apart, so it cannot be an axis."""
    seen: dict[str, Run] = {}
    for entry in entries:
        run = seen.setdefault(entry.run.run_id, entry.run)
        for key in ("evaluate", "checkpoints", "execution"):
            if getattr(run, key) != getattr(entry.run, key):
                raise UserError(f"config.{key} changes nothing that is trained, so it cannot be an axis: set it once for all runs.")


def _override(values: dict[str, Any], path: str, value: Any) -> None:
    """Sets a dotted path. An argument of a plugin may be new; a key of the config may not."""
    *parents, last = path.split(".")
    inner, walked = values, "config"
    for key in parents:
        if key not in inner:
            raise unknown(f"The axis {path!r} leads nowhere: {walked}", key, inner)
        if not isinstance(inner[key], dict):
            raise UserError(f"The axis {path!r} leads nowhere: {walked}.{key} is a value, not a group of keys.")
        inner, walked = inner[key], f"{walked}.{key}"
    if last not in inner and "name" not in inner:
        raise unknown(f"The axis {path!r} leads nowhere: {walked}", last, inner)
    inner[last] = value


def cells(runs: Iterable[Run]) -> list[Cell]:
    """Runs that differ in their replica alone, together, at most execution.max_replicas in one cell."""
    groups: dict[Run, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.without_replica(), []).append(run)
    size = {key: key.execution.max_replicas for key in groups}
    return [Cell(tuple(g[i : i + size[k]])) for k, g in groups.items() for i in range(0, len(g), size[k])]


def is_done(run: Run, found: dict[str, dict[str, Any]]) -> bool:
    """Whether a run's record has all that its evaluation asks for; a failed one is tried again."""
    record = found.get(run.run_id)
    if record is None or record["status"] == "failed":
        return False
    measured = {(r["length"], r["offset"]) for r in record["rows"] if r["split"] == "test" and r["count"] in (0, run.evaluate.num_examples)}
    grid = set(itertools.product(run.evaluate.lengths, run.evaluate.offsets))
    return record["status"] == "diverged" or grid <= measured
