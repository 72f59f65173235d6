"""A study's records, grouped as its tables show them: by variant, seeds side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pe_lab.results import likelihood, metrics, statistics
from pe_lab.results.metrics import Measured
from pe_lab.runs import check_analysis_spec, read_analysis_spec, records, study_files
from pe_lab.runs.analysis_spec import SEPARATOR, AnalysisSpec
from pe_lab.runs.labels import label
from pe_lab.runs.record_schema import JsonObject

_SEED_AXES = ("seed", "data_seed")
EVALUATED_WITH = "evaluated with"  # the axis of what stood in place of what was trained


@dataclass(frozen=True)
class Variant:
    """The runs of one point of a sweep, all its seeds, in the sweep's order."""

    name: str
    runs: tuple[JsonObject, ...]
    override: str | None = None  # what was evaluated in place of what was trained
    labels: Mapping[str, str] = field(default_factory=dict)  # axis -> label, but for seeds
    candidates: tuple[
        "Variant", ...
    ] = ()  # where it was chosen: all that it was chosen from, itself among them

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """The runs, their rows found by place."""
        return tuple(Measured(r, self.override) for r in self.runs)

    @cached_property
    def finished(self) -> list[JsonObject]:
        return [r for r in self.runs if r["status"] == "finished"]

    @cached_property
    def solved(self) -> int:
        return sum(metrics.solved(r) for r in self.finished)

    @cached_property
    def max_length(self) -> int:
        """The longest example of its training; 0 where none has finished."""
        return max((r["exposure"]["max_length"] for r in self.finished), default=0)

    @cached_property
    def max_position(self) -> int | float | None:
        """The largest position that its training showed to an encoding; None where none reads
        them.
        """
        return max(
            (p for r in self.finished if (p := r["exposure"]["max_position"]) is not None),
            default=None,
        )

    @cached_property
    def reveals_target_length(self) -> bool:
        changed = [
            row["override"]
            for r in self.finished
            for row in r["rows"]
            if row["override"] and row["override"]["label"] == self.override
        ]
        return any(
            known["reveals_target_length"]
            for known in (changed or [r["exposure"] for r in self.finished])
        )

    @property
    def task(self) -> str:
        """Its label."""
        return self.labels.get("task") or next((label(r["config"]["task"]) for r in self.runs), "")

    def values(self, length: int, offset: int, metric: str = "exact_match") -> list[Any]:
        """One number a run; None where it did not finish or has none there."""
        return [run.at(length, offset, metric) for run in self.measured]

    def mean(self, length: int, offset: int, metric: str = "exact_match") -> float | None:
        return statistics.mean(v for v in self.values(length, offset, metric) if v is not None)


@dataclass(frozen=True)
class Results:
    """Everything that a study has measured so far."""

    name: str
    variants: tuple[Variant, ...]
    missing: int  # runs without a record
    spec: AnalysisSpec = field(default_factory=AnalysisSpec)

    @cached_property
    def finished(self) -> list[JsonObject]:
        return [r for v in self.variants if v.override is None for r in v.finished]

    @cached_property
    def records(self) -> list[JsonObject]:
        """The record of every run, each once."""
        return list({r["run_id"]: r for v in self.variants for r in v.runs}.values())

    @cached_property
    def lengths(self) -> list[int]:
        return sorted(
            {row["length"] for r in self.finished for row in r["rows"] if row["split"] == "test"}
        )

    @cached_property
    def offsets(self) -> list[int]:
        return sorted(
            {row["offset"] for r in self.finished for row in r["rows"] if row["split"] == "test"}
        )

    @cached_property
    def repeated_lengths(self) -> set[int]:
        """Test lengths some of whose inputs training can draw; none in records without the
        share.
        """
        rows = [row for r in self.finished for row in r["rows"] if row["split"] == "test"]
        return {row["length"] for row in rows if row["metric"] == "overlap" and row["value"] > 0}

    @cached_property
    def max_lengths(self) -> list[int]:
        """The training lengths that occur."""
        return sorted({r["exposure"]["max_length"] for r in self.finished})

    @cached_property
    def length_name(self) -> str:
        return " or ".join(sorted({r["exposure"]["length_name"] for r in self.finished}))

    @cached_property
    def has_text(self) -> bool:
        """Whether the likelihood of places was measured."""
        return any(row["metric"] == likelihood.METRIC for r in self.finished for row in r["rows"])

    @cached_property
    def tasks(self) -> list[str]:
        """Labels of the tasks that occur."""
        return list(dict.fromkeys(label(r["config"]["task"]) for r in self.finished))

    def chance_level(
        self, length: int, metric: str = "exact_match", task: str | None = None
    ) -> float | None:
        """A task's at this length; None: the highest of any."""
        found = [
            r["chance_levels"] for r in self.finished if task in (None, label(r["config"]["task"]))
        ]
        return max(
            (f[metric] for chance_levels in found for f in chance_levels if f["length"] == length),
            default=None,
        )


def load(folder: Path) -> Results:
    """Reads a study's folder.

    Raises:
      UserError: no study there, a damaged record, or an analysis that does not fit the study.
    """
    name, entries = study_files.study_of(folder)
    found = records.read_all(folder)
    shown = _axes_to_show([labels for labels, _ in entries])
    groups: dict[str, tuple[dict[str, str], dict[str, JsonObject]]] = {}
    for labels, run_id in entries:
        own = {axis: text for axis, text in labels.items() if axis not in _SEED_AXES}
        _, runs = groups.setdefault(
            SEPARATOR.join(labels[a] for a in shown if labels.get(a)) or name, (own, {})
        )
        if run_id in found:
            runs[run_id] = found[run_id]
    missing = sum(run_id not in found for run_id in {i for _, i in entries})
    plain = [Variant(n, tuple(runs.values()), labels=own) for n, (own, runs) in groups.items()]
    variants = tuple(v for each in plain for v in _with_changes(each))
    spec = read_analysis_spec.from_dict(study_files.analysis_of(folder))
    overrides = [v.override for v in variants if v.override]
    check_analysis_spec.check(spec, [own for own, _ in groups.values()], overrides)
    return Results(name, variants, missing, spec)


def _with_changes(variant: Variant) -> list[Variant]:
    """A variant, and once more for each change that its runs were evaluated with."""
    overrides = dict.fromkeys(
        row["override"]["label"] for run in variant.runs for row in run["rows"] if row["override"]
    )
    return [variant, *(_changed(variant, override) for override in overrides)]


def _changed(variant: Variant, override: str) -> Variant:
    return Variant(
        f"{variant.name}, evaluated with {override}",
        variant.runs,
        override,
        {**variant.labels, EVALUATED_WITH: override},
    )


def _axes_to_show(labels: list[dict[str, str]]) -> list[str]:
    """Axes other than seeds that take more than one value; the encodings if none does."""
    axes = list(dict.fromkeys(a for each in labels for a in each if a not in _SEED_AXES))
    varying = [a for a in axes if len({each.get(a) for each in labels}) > 1]
    return varying or [a for a in axes if a == "model.encodings"]
