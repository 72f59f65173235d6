"""The records of a study by variant, with its analysis spec."""

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pe_lab.metrics import negative_log_likelihood_by_place as by_place
from pe_lab.results import read_analysis_spec, variant_names
from pe_lab.results.measured import Measured
from pe_lab.runs import (
    check_analysis_spec,
    record_rows,
    records,
    study_files,
    study_labels,
    validation,
)
from pe_lab.runs.analysis_spec import AnalysisSpec, Extrapolation
from pe_lab.runs.labels import label
from pe_lab.runs.record_schema import JsonObject, RecordRow

EVALUATED_WITH = "evaluated with"  # the dimension of evaluation overrides


@dataclass(frozen=True)
class Variant:
    """The runs of all seeds at one point of a sweep, in the order of the sweep.

    Attributes:
      override: label of the evaluation override; None: evaluated as trained.
      labels: by axis, without seeds.
      override_axes: axes of the grid of overrides that `override` is a point of.
      candidates: the variants of all settings from which validation chose this one.
      extrapolation: the criterion of the study.
    """

    name: str
    runs: tuple[JsonObject, ...]
    override: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    override_axes: tuple[str, ...] = ()
    candidates: tuple["Variant", ...] = ()
    extrapolation: Extrapolation = field(default_factory=Extrapolation)

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """The runs with their test rows."""
        runs = [Measured(record, self.override, self.extrapolation) for record in self.runs]
        return tuple(runs)

    @cached_property
    def finished(self) -> list[JsonObject]:
        """The records of finished runs."""
        return [record for record in self.runs if record["status"] == "finished"]

    @cached_property
    def solved(self) -> int:
        """The number of solved runs."""
        return sum(validation.solved(record) for record in self.finished)

    @cached_property
    def has_text(self) -> bool:
        """Whether the task is a text, with likelihoods by position."""
        rows = itertools.chain(*(record["rows"] for record in self.finished))
        return any(row["metric"] == by_place.METRIC for row in rows)

    @cached_property
    def is_unsolved(self) -> bool:
        """Whether no seed solved the training lengths. A text has nothing to solve."""
        return not self.solved and not self.has_text

    @cached_property
    def max_length(self) -> int:
        """The training length; 0 if no run has finished."""
        lengths = [record["exposure"]["max_length"] for record in self.finished]
        return max(lengths, default=0)

    @cached_property
    def max_position(self) -> int | float | None:
        """The largest position in training; None if the encodings read no positions."""
        positions = [record["exposure"]["max_position"] for record in self.finished]
        known = [position for position in positions if position is not None]
        return max(known, default=None)

    @cached_property
    def repeated_lengths(self) -> set[int]:
        """Test lengths at which training can draw some of the inputs."""
        lengths = set()
        for record in self.finished:
            for row in record["rows"]:
                override = row["override"]
                is_own = self.override == (override["label"] if override else None)
                is_overlap = row["split"] == "test" and row["metric"] == "overlap"
                if is_own and is_overlap and row["value"] > 0:
                    lengths.add(row["length"])
        return lengths

    @cached_property
    def reveals_target_length(self) -> bool:
        """Whether the input reveals the target length, in training or with the override."""
        overridden = []
        for record in self.finished:
            for row in record["rows"]:
                override = row["override"]
                if override and override["label"] == self.override:
                    overridden.append(override["reveals_target_length"])
        if overridden:
            # The override may exchange the positions that reveal it.
            return any(overridden)
        return any(record["exposure"]["reveals_target_length"] for record in self.finished)

    @property
    def task(self) -> str:
        """The label of the task."""
        if self.labels.get("task"):
            return self.labels["task"]
        if not self.runs:
            return ""
        return label(self.runs[0]["config"]["task"])

    def values(self, length: int, offset: int, metric: str = "exact_match") -> list[float | None]:
        """Return one value for each run; None without a value."""
        return [run.at(length, offset, metric) for run in self.measured]


@dataclass(frozen=True)
class Results:
    """The variants of a study, and its analysis spec.

    Attributes:
      missing: number of runs without a record.
    """

    name: str
    variants: tuple[Variant, ...]
    missing: int
    spec: AnalysisSpec = field(default_factory=AnalysisSpec)

    @cached_property
    def trained(self) -> list[Variant]:
        """The variants as trained, without overrides."""
        return [variant for variant in self.variants if variant.override is None]

    @cached_property
    def finished(self) -> list[JsonObject]:
        """The records of finished runs."""
        return [record for variant in self.trained for record in variant.finished]

    @cached_property
    def records(self) -> list[JsonObject]:
        """The record of every run, once."""
        # Two variants share their runs if they differ in the override alone.
        by_id = {}
        for variant in self.variants:
            for record in variant.runs:
                by_id[record["run_id"]] = record
        return list(by_id.values())

    @cached_property
    def override_axes(self) -> list[tuple[str, ...]]:
        """The axes of each grid of evaluation overrides."""
        grids = [variant.override_axes for variant in self.variants if variant.override_axes]
        return list(dict.fromkeys(grids))

    def without_grids(self) -> "Results":
        """Return the results without the points of grids of overrides, which have own tables."""
        variants = tuple(variant for variant in self.variants if not variant.override_axes)
        return dataclasses.replace(self, variants=variants)

    @cached_property
    def test_rows(self) -> list[RecordRow]:
        """The test rows of finished runs."""
        rows = [row for record in self.finished for row in record["rows"]]
        return [row for row in rows if row["split"] == "test"]

    @cached_property
    def lengths(self) -> list[int]:
        """The test lengths."""
        return sorted({row["length"] for row in self.test_rows})

    @cached_property
    def offsets(self) -> list[int]:
        """The offsets of the positions in the test."""
        return sorted({row["offset"] for row in self.test_rows})

    @cached_property
    def repeated_lengths(self) -> set[int]:
        """Test lengths at which training can draw some of the inputs of a trained variant."""
        return set().union(*(variant.repeated_lengths for variant in self.trained))

    @cached_property
    def max_lengths(self) -> list[int]:
        """The training lengths."""
        return sorted({record["exposure"]["max_length"] for record in self.finished})

    @cached_property
    def length_name(self) -> str:
        """The unit of lengths, such as symbols."""
        names = {record["exposure"]["length_name"] for record in self.finished}
        return " or ".join(sorted(names))

    @cached_property
    def has_text(self) -> bool:
        """Whether the task of a variant is a text."""
        return any(variant.has_text for variant in self.trained)

    @cached_property
    def tasks(self) -> list[str]:
        """The labels of the tasks."""
        labels = [label(record["config"]["task"]) for record in self.finished]
        return list(dict.fromkeys(labels))

    def chance_level(
        self, length: int, metric: str = "exact_match", task: str | None = None
    ) -> float | None:
        """Return the chance level of a task at a length; `task=None`: the highest of all tasks."""
        levels = []
        for record in self.finished:
            if task is not None and task != label(record["config"]["task"]):
                continue
            for level in record["chance_levels"]:
                if level["length"] == length:
                    levels.append(level[metric])
        return max(levels, default=None)


def load(folder: Path) -> Results:
    """Read a study's folder.

    Raises:
      UserError: the folder has no study, a record is damaged, or the analysis spec does not fit.
    """
    name, entries = study_files.study_of(folder)
    by_id = records.read_all(folder)
    study_labels.check(folder, entries, by_id)
    names = variant_names.names(name, [labels for labels, _ in entries])
    spec = read_analysis_spec.from_dict(study_files.analysis_of(folder))
    labels_of: dict[str, dict[str, str]] = {}
    # By run id, because an entry may occur twice.
    runs_of: dict[str, dict[str, JsonObject]] = {variant_name: {} for variant_name in names}
    for variant_name, (labels, run_id) in zip(names, entries, strict=True):
        # The entries of a variant differ in seeds alone.
        axes = variant_names.axes_of([labels])
        labels_of.setdefault(variant_name, {axis: labels[axis] for axis in axes})
        if run_id in by_id:
            runs_of[variant_name][run_id] = by_id[run_id]
    variants: list[Variant] = []
    for variant_name, runs in runs_of.items():
        trained = Variant(
            variant_name,
            tuple(runs.values()),
            labels=labels_of[variant_name],
            extrapolation=spec.extrapolation,
        )
        variants += [trained, *_with_overrides(trained)]
    labels_of_override = {}
    for variant in variants:
        if variant.override:
            labels_of_grid = {axis: variant.labels[axis] for axis in variant.override_axes}
            labels_of_override[variant.override] = labels_of_grid
    check_analysis_spec.check(spec, list(labels_of.values()), labels_of_override)
    run_ids = {run_id for _, run_id in entries}
    missing = len(run_ids - by_id.keys()) + study_files.later_runs_of(folder)
    return Results(name, tuple(variants), missing, spec)


def _with_overrides(variant: Variant) -> list[Variant]:
    """Return the variant once for each override that its runs were evaluated with."""
    overrides = []
    for name, axes in record_rows.override_axes(variant.runs).items():
        overrides.append(
            dataclasses.replace(
                variant,
                name=f"{variant.name}, {EVALUATED_WITH} {name}",
                override=name,
                labels={**variant.labels, EVALUATED_WITH: name, **axes},
                override_axes=tuple(axes),
            )
        )
    return overrides
