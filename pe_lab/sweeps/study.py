"""A study: the runs of a sweep under the labels that tables show, its variants and run groups."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pe_lab.results import read_analysis_spec, variant_names
from pe_lab.runs import config, grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.grid import Point
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.run import Run, RunGroup
from pe_lab.runs.studies import analysis_spec, check_analysis_spec, study_files
from pe_lab.runs.studies.analysis_spec import SEED_AXES, SEPARATOR, AnalysisSpec
from pe_lab.runs.system import texts
from pe_lab.sweeps import select


@dataclass(frozen=True)
class Entry:
    """One point of the sweep: its labels by axis, and its run."""

    labels: dict[str, str]
    run: Run

    @property
    def name(self) -> str:
        """The labels of all axes but seeds, or the task and the encodings if there are none."""
        labels = [text for axis, text in self.labels.items() if axis not in SEED_AXES and text]
        if labels:
            return SEPARATOR.join(labels)
        encodings = " + ".join(e.name for e in self.run.model.encodings) or "no encoding"
        return f"{self.run.task.name}, {self.run.positions.name}, {encodings}"


@dataclass(frozen=True)
class ExpandedStudy:
    """The entries of a sweep under its name."""

    name: str
    entries: tuple[Entry, ...]
    # The analysis spec as plain values: see pe_lab/runs/studies/analysis_spec.py.
    analysis: JsonObject = field(default_factory=dict)

    @property
    def runs(self) -> list[Run]:
        """Every run once: NoPE under ten schemes is one run with ten entries."""
        by_id = {entry.run.run_id: entry.run for entry in self.entries}
        return list(by_id.values())

    @property
    def repeated(self) -> list[dict[str, str]]:
        """The labels of points that repeat an earlier point: the same labels and the same run."""
        earlier = set()
        repeated = []
        for entry in self.entries:
            point = (frozenset(entry.labels.items()), entry.run.run_id)
            if point in earlier:
                repeated.append(entry.labels)
            earlier.add(point)
        return repeated

    def write(self, folder: Path) -> None:
        """Write folder/study.json: the labels of each run and the analysis spec."""
        entries = [(entry.labels, entry.run.run_id) for entry in self.entries]
        study_files.write(folder, self.name, entries, self.analysis)


def expand(
    name: str,
    values: dict[str, object],
    points: Sequence[Point],
    folder: Path,
    analysis: JsonObject | None = None,
) -> ExpandedStudy:
    """Apply every point to a config's values.

    Args:
      folder: of the study, next to which the studies of parent runs are.
      analysis: the analysis spec as plain values; it changes no run.

    Raises:
      UserError: there are no points, an axis names no key, a value or an argument is not accepted,
        or the analysis spec names something that the study does not have.
    """
    if not points:
        raise UserError(f"The sweep of {name} has no points.")
    run_values = {key: value for key, value in values.items() if key != "launcher"}
    runs = _runs(run_values, points, folder)
    entries = []
    for point, run in zip(points, runs, strict=True):
        labels = {path: choice.label for path, choice in point.items()}
        entries.append(Entry(labels, run))
    _check_labels(points)
    _check_same_runs(entries)
    _check_printable([*(entry.labels for entry in entries), analysis])
    if analysis is None:
        analysis = {}
    spec = read_analysis_spec.from_dict(analysis)
    variants = _variants(entries)
    overrides = {}
    for entry in entries:
        for override in entry.run.evaluate.overrides:
            overrides[override.label] = dict(override.axes)
    check_analysis_spec.check(spec, variants, overrides)
    _check_contrasts(entries, spec)
    return ExpandedStudy(name, tuple(entries), analysis)


def _runs(values: dict[str, object], points: Sequence[Point], folder: Path) -> list[Run]:
    """The run of each point. A config is read once for all seeds, because reading is slow."""
    runs: list[Run] = []
    run_of: dict[Hashable, Run] = {}  # by the choices of a point, without seeds
    configs: dict[str, JsonObject] = {}  # by run id, of the points so far
    has_parents = values.get("init_from") is not None
    has_parents |= any(path.partition(".")[0] == "init_from" for point in points for path in point)
    for point in points:
        # The points of a product share their choices. They are compared by identity, because the
        # value of a choice may be a dict, and equal dicts of two choices need not be found.
        key = tuple((path, id(choice)) for path, choice in point.items() if path not in SEED_AXES)
        if has_parents:  # a parent may depend on the seed
            run = _run(values, point, folder, list(configs.values()))
            configs.setdefault(run.run_id, {**run.to_dict(), "run_id": run.run_id})
        elif key in run_of:
            seeds = [point[path].value if path in point else values.get(path) for path in SEED_AXES]
            run = config.with_seeds(run_of[key], *seeds)
        else:
            run = _run(values, point, folder, [])
            run_of[key] = run
        runs.append(run)
    return runs


def _run(
    values: dict[str, object], point: Point, folder: Path, before: Sequence[JsonObject]
) -> Run:
    """The run of one point; `before` has the configs of the points before it."""
    point_values = grid.values_at(point, values)
    return config.from_dict(select.resolve(point_values, folder, before))


def _variants(entries: Iterable[Entry]) -> list[dict[str, str]]:
    """The labels of each variant, without seeds."""
    variants: dict[Hashable, dict[str, str]] = {}
    for entry in entries:
        labels = {axis: text for axis, text in entry.labels.items() if axis not in SEED_AXES}
        variants.setdefault(tuple(labels.items()), labels)
    return list(variants.values())


def _check_labels(points: Sequence[Point]) -> None:
    """Check that a label has one value, and a name one variant, or tables would average two."""
    value_of: dict[tuple[str, str], object] = {}
    # Choices with an empty label are in no name: two of them would be one variant in tables.
    hidden_of: dict[tuple[tuple[str, str], ...], dict[str, object]] = {}
    for point in points:
        labelled = {}
        for path, choice in point.items():
            if path not in SEED_AXES and choice.label:
                labelled[path] = choice
        for path, choice in labelled.items():
            first_value = value_of.setdefault((path, choice.label), choice.value)
            if first_value != choice.value:
                raise UserError(
                    f"Two values of the axis {path!r} have the label {choice.label!r}: name them "
                    f"apart with grid.labelled."
                )
        hidden = {path: choice.value for path, choice in point.items() if not choice.label}
        name = tuple((path, choice.label) for path, choice in labelled.items())
        if hidden_of.setdefault(name, hidden) != hidden:
            raise _one_name(SEPARATOR.join(label for _, label in name))
    labels_of: dict[str, dict[str, str]] = {}
    labels = [{path: choice.label for path, choice in point.items()} for point in points]
    for variant, own_labels in zip(variant_names.names("", labels), labels, strict=True):
        shown = {axis: own_labels[axis] for axis in variant_names.axes_of([own_labels])}
        shown = {axis: label for axis, label in shown.items() if label}
        if labels_of.setdefault(variant, shown) != shown:
            raise _one_name(variant)


def _one_name(variant: str) -> UserError:
    return UserError(
        f"Two variants are both called {variant or 'no label'}: give what tells them apart a "
        f"label with grid.labelled."
    )


def _check_printable(content: object) -> None:
    """Refuse a text with a line break or another control character."""
    if isinstance(content, str) and not texts.is_printable(content):
        raise UserError(f"The text {content!r} has a control character, such as a line break.")
    if isinstance(content, Mapping):
        _check_printable([*content, *content.values()])
    if isinstance(content, list | tuple):
        for value in content:
            _check_printable(value)


def _check_same_runs(entries: Sequence[Entry]) -> None:
    """Refuse axes that do not change the weights: their points would share one run."""
    first_of: dict[str, Run] = {}
    for entry in entries:
        run = first_of.setdefault(entry.run.run_id, entry.run)
        for key in ("evaluate", "checkpoints", "execution"):
            if getattr(run, key) != getattr(entry.run, key):
                raise UserError(
                    f"config.{key} changes nothing that is trained, so it cannot be an axis: set "
                    f"it once for all runs."
                )


def by_variant(entries: Iterable[Entry], spec: AnalysisSpec, name: str) -> dict[str, list[Entry]]:
    """Return the entries of each variant, one for each seed and setting, by the variant's name.

    Args:
      name: of the study, which is that of a variant without labels.
    """
    variants: dict[str, list[Entry]] = {}
    hidden = (*SEED_AXES, *spec.tuned)
    for entry in entries:
        labels = [text for axis, text in entry.labels.items() if axis not in hidden and text]
        variants.setdefault(SEPARATOR.join(labels) or name, []).append(entry)
    return variants


def run_ids(entries: Iterable[Entry]) -> set[str]:
    """Return the ids of the runs of entries."""
    return {entry.run.run_id for entry in entries}


def _check_contrasts(entries: Sequence[Entry], spec: AnalysisSpec) -> None:
    """Refuse a contrast that compares runs with themselves: rope and rope(base=10000).

    Raises:
      UserError: all pairs of a contrast have equal runs.
    """
    variants = by_variant(entries, spec, "")
    labels_of = {name: several[0].labels for name, several in variants.items()}
    for contrast in spec.contrasts:
        pairs = analysis_spec.pairs(labels_of, contrast)
        if pairs and all(run_ids(variants[a]) == run_ids(variants[b]) for a, b in pairs):
            a, b = pairs[0]
            raise UserError(
                f"The contrast of {a} with {b} compares runs with themselves: the two have equal "
                f"settings."
            )


def groups(runs: Iterable[Run], together: Iterable[Sequence[str]] = ()) -> list[RunGroup]:
    """The run groups of runs: runs that differ in their member settings alone share one.

    A group has at most execution.max_members runs. More runs are split evenly: 9 runs with a
    maximum of 8 become groups of 5 and 4. A run comes in a later group than its parent.

    Args:
      together: run ids of groups that exist already.
    """
    by_id = {run.run_id: run for run in runs}

    def generation(run: Run) -> int:
        if run.init_from is None or run.init_from.run_id not in by_id:
            return 0
        parent = by_id[run.init_from.run_id]
        return 1 + generation(parent)

    remaining = dict(by_id)
    run_groups = []
    for run_ids in together:
        members = [remaining.pop(run_id) for run_id in run_ids]
        run_groups.append(RunGroup(tuple(members)))
    members_of: dict[tuple[int, bool, Run], list[Run]] = {}
    for run in remaining.values():
        has_parent = run.init_from is not None
        key = (generation(run), has_parent, run.group_key())
        members_of.setdefault(key, []).append(run)
    # Runs with and without a parent draw from other inputs (Trained.everywhere), so they compile
    # other programs and do not share a group, even in one generation.
    for (_, _, group_key), members in members_of.items():
        num_parts = math.ceil(len(members) / group_key.execution.max_members)
        for part in np.array_split(np.arange(len(members)), num_parts):
            run_groups.append(RunGroup(tuple(members[i] for i in part)))
    # The sort is stable, so groups of one generation keep the order of their first runs.
    return sorted(run_groups, key=lambda group: generation(group.run))


def waves(groups: Iterable[RunGroup]) -> list[list[RunGroup]]:
    """Run groups in the order in which they can train: a parent's group comes earlier."""
    remaining = list(groups)
    waves = []
    while remaining:
        untrained = {run.run_id for group in remaining for run in group.runs}
        wave: list[RunGroup] = []
        later: list[RunGroup] = []
        for group in remaining:
            parents = {run.init_from.run_id for run in group.runs if run.init_from}
            waits = not parents.isdisjoint(untrained)
            (later if waits else wave).append(group)
        waves.append(wave)
        remaining = later
    return waves
