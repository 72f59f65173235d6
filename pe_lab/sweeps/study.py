"""A study: the runs of a sweep under the labels that tables show, and their run groups."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pe_lab.runs import check_analysis_spec, config, read_analysis_spec, records
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.grid import Point
from pe_lab.runs.run import Run, RunGroup
from pe_lab.sweeps import select

SEEDS = ("seed", "data_seed")  # axes that tell the runs of one variant apart


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
    # The analysis spec as plain values: see pe_lab/runs/analysis_spec.py.
    analysis: Mapping[str, Any] = field(default_factory=dict)

    @property
    def runs(self) -> list[Run]:
        """Every run once: NoPE under ten schemes is one run with ten entries."""
        return list({entry.run.run_id: entry.run for entry in self.entries}.values())

    @property
    def repeated(self) -> list[dict[str, str]]:
        """The labels of points that are like an earlier one: the same labels and the same run."""
        points = [(entry.labels, entry.run.run_id) for entry in self.entries]
        return [point[0] for i, point in enumerate(points) if point in points[:i]]

    def write(self, folder: Path) -> None:
        """Writes folder/study.json, which tells analysis the labels of each run, and what it is
        asked.
        """
        entries = [{"labels": e.labels, "run_id": e.run.run_id} for e in self.entries]
        said = {"analysis": self.analysis} if self.analysis else {}
        records.write_json(folder / "study.json", {"name": self.name, **said, "entries": entries})


def expand(
    name: str,
    values: dict[str, Any],
    points: Sequence[Point],
    folder: Path,
    analysis: Mapping[str, Any] | None = None,
) -> Study:
    """Applies every point to a config's values.

    Args:
      folder: of the study; runs that start from another study's find it from here.
      analysis: the analysis spec as plain values; it changes no run.

    Raises:
      UserError: an axis that names no key, a value or argument that nothing takes, no points, or an
        analysis of what is not there.
    """
    if not points:
        raise UserError(f"The sweep of {name} has no points.")
    entries: list[Entry] = []
    before: dict[str, dict[str, Any]] = {}
    for point in points:
        changed = copy.deepcopy({key: value for key, value in values.items() if key != "launcher"})
        for path, choice in point.items():
            _override(changed, path, copy.deepcopy(choice.value))
        run = config.from_dict(select.resolve(changed, folder, list(before.values())))
        entries.append(Entry({path: choice.label for path, choice in point.items()}, run))
        before.setdefault(run.run_id, {**run.to_dict(), "run_id": run.run_id})
    _check_labels(points)
    _check_same_runs(entries)
    analysis = {} if analysis is None else analysis
    overrides = {override.label for entry in entries for override in entry.run.evaluate.overrides}
    spec = read_analysis_spec.from_dict(analysis)
    check_analysis_spec.check(spec, [_without_seeds(e.labels) for e in entries], overrides)
    return Study(name, tuple(entries), analysis)


def _without_seeds(labels: Mapping[str, str]) -> dict[str, str]:
    return {axis: text for axis, text in labels.items() if axis not in SEEDS}


def _check_labels(points: Sequence[Point]) -> None:
    """One label, one value: under a shared label two variants would be averaged like seeds."""
    seen: dict[tuple[str, str], Any] = {}
    silent: dict[tuple[tuple[str, str], ...], Any] = {}
    for point in points:
        shown = {
            path: choice for path, choice in point.items() if path not in SEEDS and choice.label
        }
        for path, choice in shown.items():
            if seen.setdefault((path, choice.label), choice.value) != choice.value:
                raise UserError(
                    f"Two values of the axis {path!r} have the label {choice.label!r}: name them "
                    f"apart with grid.labelled."
                )
        hidden = {path: choice.value for path, choice in point.items() if not choice.label}
        name = tuple((path, choice.label) for path, choice in shown.items())
        if silent.setdefault(name, hidden) != hidden:
            words = " · ".join(label for _, label in name) or "no label"
            raise UserError(
                f"Two variants are both called {words}: give what tells them apart a label with "
                f"grid.labelled."
            )


def _check_same_runs(entries: Sequence[Entry]) -> None:
    """What does not change the weights cannot tell runs apart, so it cannot be an axis."""
    seen: dict[str, Run] = {}
    for entry in entries:
        run = seen.setdefault(entry.run.run_id, entry.run)
        for key in ("evaluate", "checkpoints", "execution"):
            if getattr(run, key) != getattr(entry.run, key):
                raise UserError(
                    f"config.{key} changes nothing that is trained, so it cannot be an axis: set "
                    f"it once for all runs."
                )


def _override(values: dict[str, Any], path: str, value: Any) -> None:
    """Sets a dotted path. An argument of a plugin may be new, a key of the config may not; of
    several plugins a number names one.
    """
    *parents, last = path.split(".")
    inner, walked = values, "config"
    for key in parents:
        keys = (
            inner if isinstance(inner, dict) else {str(i): plugin for i, plugin in enumerate(inner)}
        )
        if key not in keys:
            raise unknown(f"The axis {path!r} leads nowhere: {walked}", key, keys)
        if not isinstance(keys[key], dict | list | tuple):
            raise UserError(
                f"The axis {path!r} leads nowhere: {walked}.{key} is a value, not a group of keys."
            )
        inner, walked = keys[key], f"{walked}.{key}"
    if not isinstance(inner, dict):
        raise UserError(
            f"The axis {path!r} leads nowhere: {walked} holds several values; name an argument of "
            f"one, as in {walked}.0.{last}."
        )
    if last not in inner and "name" not in inner:
        raise unknown(f"The axis {path!r} leads nowhere: {walked}", last, inner)
    inner[last] = value


def groups(runs: Iterable[Run]) -> list[RunGroup]:
    """Runs that differ in their member alone, together, at most execution.max_members in one
    run group.

    More runs than that are split evenly: 9 of at most 8 become 5 and 4.

    Runs that start from runs among these come in later run groups than those.
    """
    by_id = {run.run_id: run for run in runs}

    def generation(run: Run) -> int:
        parent = by_id.get(run.init_from.run_id) if run.init_from else None
        return 0 if parent is None else 1 + generation(parent)

    groups: dict[tuple[int, Run], list[Run]] = {}
    for run in by_id.values():
        groups.setdefault((generation(run), run.group_key()), []).append(run)
    found = []
    for (_, key), group in sorted(groups.items(), key=lambda item: item[0][0]):
        found += [RunGroup(tuple(runs)) for runs in _split(group, key.execution.max_members)]
    return found


def _split(runs: Sequence[Run], most: int) -> list[Sequence[Run]]:
    """The fewest parts of at most `most` runs, whose sizes differ by one at most."""
    parts = -(-len(runs) // most)
    size, longer = divmod(len(runs), parts)
    ends = [size * (i + 1) + min(i + 1, longer) for i in range(parts)]
    return [runs[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def waves(groups: Iterable[RunGroup]) -> list[list[RunGroup]]:
    """Cells in the order in which they can train: after those whose runs theirs start from."""
    left, done = list(groups), []
    while left:
        waiting = {run.run_id for group in left for run in group.runs}
        ready = [
            group
            for group in left
            if not any(run.init_from and run.init_from.run_id in waiting for run in group.runs)
        ]
        done.append(ready)
        left = [group for group in left if group not in ready]
    return done
