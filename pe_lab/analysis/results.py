"""A study's records, grouped as its tables show them: by variant, seeds side by side."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab import records
from pe_lab.analysis import likelihood, statistics
from pe_lab.labels import label

FLOOR_CORRECTED = "floor_corrected_token_accuracy"
BITS, BITS_SLIDING = "bits_per_token", "bits_per_token_sliding"  # of a text: of whole windows, of their second halves
_SEED_AXES = ("seed", "data_seed")
_ROUNDING = 1e-9  # the mean of three times 0.99 is a little less


@dataclass(frozen=True)
class Variant:
    """The runs of one point of a sweep, all its seeds, in the sweep's order."""

    name: str
    runs: tuple[dict[str, Any], ...]
    change: str | None = None  # what was evaluated in place of what was trained

    @property
    def finished(self) -> list[dict[str, Any]]:
        return [r for r in self.runs if r["status"] == "finished"]

    @property
    def learnt(self) -> int:
        return sum(learnt(r) for r in self.finished)

    @property
    def max_length(self) -> int:
        """The longest example of its training."""
        return max(r["exposure"]["max_length"] for r in self.finished)

    @property
    def target_length_known(self) -> bool:
        changed = [row["change"] for r in self.finished for row in r["rows"] if row["change"] and row["change"]["label"] == self.change]
        return any(known["target_length_known"] for known in (changed or [r["exposure"] for r in self.finished]))

    def values(self, length: int, offset: int, metric: str = "exact_match") -> list[float | None]:
        """One number a run; None where it did not finish or has none there."""
        return [_value(r, length, offset, metric, self.change) for r in self.runs]

    def mean(self, length: int, offset: int, metric: str = "exact_match") -> float | None:
        return statistics.mean(v for v in self.values(length, offset, metric) if v is not None)


@dataclass(frozen=True)
class Results:
    """Everything that a study has measured so far."""

    name: str
    variants: tuple[Variant, ...]
    missing: int  # runs without a record

    @property
    def finished(self) -> list[dict[str, Any]]:
        return [r for v in self.variants if v.change is None for r in v.finished]

    @property
    def lengths(self) -> list[int]:
        return sorted({row["length"] for r in self.finished for row in r["rows"] if row["split"] == "test"})

    @property
    def offsets(self) -> list[int]:
        return sorted({row["offset"] for r in self.finished for row in r["rows"] if row["split"] == "test"})

    @property
    def max_lengths(self) -> list[int]:
        """The training lengths that occur."""
        return sorted({r["exposure"]["max_length"] for r in self.finished})

    @property
    def length_name(self) -> str:
        return " or ".join(sorted({r["exposure"]["length_name"] for r in self.finished}))

    @property
    def has_text(self) -> bool:
        """Whether the likelihood of places was measured."""
        return any(row["metric"] == likelihood.METRIC for r in self.finished for row in r["rows"])

    @property
    def tasks(self) -> list[str]:
        """Labels of the tasks that occur."""
        return list(dict.fromkeys(label(r["config"]["task"]) for r in self.finished))

    def floor(self, length: int, metric: str = "exact_match", task: str | None = None) -> float | None:
        """A task's at this length; None: the highest of any."""
        found = [r["floors"] for r in self.finished if task in (None, label(r["config"]["task"]))]
        return max((f[metric] for floors in found for f in floors if f["length"] == length), default=None)


def load(folder: Path) -> Results:
    """Reads a study's folder.

    Raises:
      UserError: no study there, or a damaged record.
    """
    name, entries = records.study_of(folder)
    found = records.read_all(folder)
    shown = _axes_to_show([labels for labels, _ in entries])
    groups: dict[str, list[dict[str, Any]]] = {}
    for labels, run_id in entries:
        variant = groups.setdefault(" · ".join(labels[a] for a in shown if labels.get(a)) or name, [])
        if run_id in found and found[run_id] not in variant:
            variant.append(found[run_id])
    missing = sum(run_id not in found for run_id in {i for _, i in entries})
    return Results(name, tuple(v for n, runs in groups.items() for v in _with_changes(Variant(n, tuple(runs)))), missing)


def _value(record: dict[str, Any], length: int, offset: int, metric: str, change: str | None) -> float | None:
    """One number of a run's test, or one worked out from it."""

    def found(metric: str) -> Any:
        return records.value(record, "test", length, offset, metric, change)

    if metric == FLOOR_CORRECTED:
        accuracy, floors = found("token_accuracy"), [f["token_accuracy"] for f in record["floors"] if f["length"] == length]
        return None if accuracy is None or not floors else statistics.floor_corrected(accuracy, floors[0])
    if metric == BITS:
        nats = found("negative_log_likelihood")
        return None if nats is None else nats / math.log(2)
    if metric == BITS_SLIDING:
        row = {"metric": likelihood.METRIC, "length": length, "value": found(likelihood.METRIC)}
        return likelihood.bits_per_byte(row, max(1, length // 2))
    return found(metric)


def _with_changes(variant: Variant) -> list[Variant]:
    """A variant, and once more for each change that its runs were evaluated with."""
    labels = dict.fromkeys(row["change"]["label"] for run in variant.runs for row in run["rows"] if row["change"])
    return [variant, *(Variant(f"{variant.name}, evaluated with {label}", variant.runs, label) for label in labels)]


def learnt(record: dict[str, Any]) -> bool:
    """Mean validation exact match over lengths up to the training length reaches the task's threshold."""
    reached = statistics.mean(in_distribution(record))
    return reached is not None and reached >= record["exposure"]["learnt_threshold"] - _ROUNDING


def in_distribution(record: dict[str, Any]) -> list[float]:
    """Validation exact match at each length up to the training length."""
    rows = (r for r in record["rows"] if r["split"] == "validation" and r["metric"] == "exact_match" and r["change"] is None)
    return [r["value"] for r in rows if r["length"] <= record["exposure"]["max_length"] and r["value"] is not None]


def _axes_to_show(labels: list[dict[str, str]]) -> list[str]:
    """Axes other than seeds that take more than one value; the encodings if none does."""
    axes = list(dict.fromkeys(a for each in labels for a in each if a not in _SEED_AXES))
    varying = [a for a in axes if len({each.get(a) for each in labels}) > 1]
    return varying or [a for a in axes if a == "model.encodings"]
