"""One run's numbers: at each length, and one number for the whole run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pe_lab.results import likelihood, statistics
from pe_lab.runs import record_rows, records
from pe_lab.runs.analysis_spec import BY_LENGTH, Extrapolation, Metric, MetricPoint
from pe_lab.runs.record_schema import JsonObject

CHANCE_CORRECTED = "chance_corrected_token_accuracy"
BITS, BITS_SLIDING = (
    "bits_per_token",
    "bits_per_token_sliding",
)  # of a text: of whole windows, of their second halves
# times the training length, where the areas end: a number that studies of other lengths have too
AREA_TO = 2.0
_AREA_POINTS = 65  # of the grid on which an area is summed
_BUDGETS = {"steps": "steps", "flops": "train_flops", "parameters": "parameters"}


@dataclass(frozen=True, order=True)
class Limit:
    """The longest length up to which a run holds, of those measured: 16, or beyond the last (≥ 64),
    or below the first (< 4).
    """

    length: int
    side: int = 0  # -1: below, 1: at least

    def __str__(self) -> str:
        return f"{('< ', '', '≥ ')[self.side + 1]}{self.length}"


@dataclass(frozen=True)
class Measured:
    """A run as one variant shows it: its test rows, of what was trained or of a change, found by
    point.
    """

    record: JsonObject
    override: str | None = None

    @cached_property
    def rows(self) -> dict[tuple[int, int, str], record_rows.RecordRow]:
        """Test rows by length, offset, metric."""
        own = (
            r
            for r in record_rows.preferred_rows(self.record)
            if r["split"] == "test" and _change(r) == self.override
        )
        return {(r["length"], r["offset"], r["metric"]): r for r in own}

    @property
    def finished(self) -> bool:
        return self.record["status"] == "finished"

    @property
    def seed(self) -> tuple[int, int]:
        """Of weights and of data: what a run shares with its partner in another variant."""
        return self.record["member"]["seed"], self.record["member"]["data_seed"]

    @property
    def max_length(self) -> int:
        """The longest example of its training; 0 where it did not train."""
        return self.record["exposure"]["max_length"] if self.record["exposure"] else 0

    def lengths(self, offset: int = 0) -> list[int]:
        """Those of the test at an offset."""
        return sorted({n for n, at, _ in self.rows if at == offset})

    def reason(self, length: int, offset: int = 0) -> str | None:
        """Why nothing could be measured there; None where something was, or nobody has tried."""
        row = self.rows.get((length, offset, "exact_match"))
        return row["reason"] if row and row["value"] is None else None

    def at(self, length: int, offset: int = 0, metric: str = "exact_match") -> Any:
        """A metric's value there, or one worked out from it; None where there is none."""
        if metric == CHANCE_CORRECTED:
            accuracy, chance_level = (
                self._found(length, offset, "token_accuracy"),
                self._chance_level(length),
            )
            return (
                None
                if accuracy is None or chance_level is None
                else statistics.chance_corrected(accuracy, chance_level)
            )
        if metric == BITS:
            nats = self._found(length, offset, "negative_log_likelihood")
            return None if nats is None else nats / math.log(2)
        if metric == BITS_SLIDING:
            row = {
                "metric": likelihood.METRIC,
                "length": length,
                "value": self._found(length, offset, likelihood.METRIC),
            }
            return likelihood.bits_per_byte(row, max(1, length // 2))
        return self._found(length, offset, metric)

    def curve(self, offset: int = 0, metric: str = "exact_match") -> list[tuple[int, float]]:
        """(length, value) where there is one."""
        found = [(n, self.at(n, offset, metric)) for n in self.lengths(offset)]
        return [(n, value) for n, value in found if value is not None]

    def _found(self, length: int, offset: int, metric: str) -> Any:
        row = self.rows.get((length, offset, metric))
        return None if row is None else row["value"]

    def _chance_level(self, length: int) -> float | None:
        return next(
            (f["token_accuracy"] for f in self.record["chance_levels"] if f["length"] == length),
            None,
        )


def value(run: Measured, metric: Metric) -> Any:
    """A number, a Limit, or None: of a metric at its point, or of the whole run."""
    if metric.name in _BUDGETS:
        return (run.record["cost"] or {}).get(_BUDGETS[metric.name])
    if not run.finished:
        return None
    if metric.name in BY_LENGTH:
        return at_point(run, metric.name, metric.point)
    return _OF_A_RUN[metric.name](run, metric.point.offset)


def at_point(run: Measured, name: str, point: MetricPoint) -> Any:
    """At the point's length, or the mean over those measured in its range; None where one of them
    has no value.
    """
    if point.lengths is None:
        length = point.length_for(run.max_length)
        return None if length is None else run.at(length, point.offset, name)
    first, last = point.lengths
    found = [run.at(n, point.offset, name) for n in run.lengths(point.offset) if first <= n <= last]
    return None if None in found else statistics.mean(found)


def extrapolates(run: Measured, extrapolation: Extrapolation) -> bool | None:
    """Whether a run is solved and reaches the threshold at the point. A run that diverged, or whose
    table ends before, does not.

    None where that is not known: it failed for another reason, or nobody has measured it there.
    """
    if run.record["status"] != "finished":
        return False if run.record["status"] == "diverged" else None
    length = extrapolation.point.length_for(run.max_length)
    if length is None or (length, extrapolation.point.offset, "exact_match") not in run.rows:
        return None
    reached = run.at(length, extrapolation.point.offset)
    return (
        solved(run.record)
        and reached is not None
        and reached >= extrapolation.threshold - records.ROUNDING
    )


def solved(record: JsonObject) -> bool:
    """Mean exact match over the validation lengths reaches the task's threshold."""
    return record["status"] == "finished" and records.solved(
        validated(record), record["exposure"]["solved_threshold"]
    )


def validated(record: JsonObject, metric: str = "exact_match") -> list[float]:
    """Validation at each length up to the training length."""
    rows = (
        r
        for r in record_rows.preferred_rows(record)
        if r["split"] == "validation" and r["metric"] == metric and r["override"] is None
    )
    return [
        r["value"]
        for r in rows
        if r["length"] <= record["exposure"]["max_length"] and r["value"] is not None
    ]


def validation_loss(record: JsonObject) -> float:
    """Its mean over lengths up to the training length; infinite where the run has none: it
    diverged, or did not finish.
    """
    found = validated(record, "negative_log_likelihood") if record["status"] == "finished" else []
    return math.fsum(found) / len(found) if found else math.inf


def hazard(run: Measured, length: int, offset: int = 0) -> list[float | None]:
    """The share of first errors at each place of the answer, of the examples that were right so
    far; None where none is left.

    Where answers are shorter than the longest of their length, what has ended counts as right.
    """
    row = run.rows.get((length, offset, "first_error"))
    if row is None or row["value"] is None:
        return []
    left = row["count"] - np.concatenate([[0], np.cumsum(row["value"])[:-1]])
    return [
        wrong / there if there > 0 else None
        for wrong, there in zip(row["value"], left.tolist(), strict=True)
    ]


def limit(run: Measured, threshold: float, offset: int = 0) -> Limit | None:
    """The longest measured length up to which exact match is at least a threshold, after isotonic
    smoothing over lengths.

    A length that the encoding or the positions cannot reach counts as 0.
    """
    from scipy import optimize  # slow to import

    lengths = [n for n in run.lengths(offset) if (n, offset, "exact_match") in run.rows]
    if not lengths:
        return None
    counts = [run.rows[n, offset, "exact_match"]["count"] or 1 for n in lengths]
    smooth = optimize.isotonic_regression(
        [run.at(n, offset) or 0.0 for n in lengths], weights=counts, increasing=False
    ).x
    held = [
        n
        for n, reached in zip(lengths, smooth.tolist(), strict=True)
        if reached >= threshold - records.ROUNDING
    ]
    if not held:
        return Limit(lengths[0], -1)
    return Limit(held[-1], int(held[-1] == lengths[-1]))


def area(run: Measured, offset: int = 0, *, log: bool = False) -> float | None:
    """Mean exact match between the training length and twice it, over length or over its logarithm.

    On a fixed grid, straight between measured lengths; None where these do not reach from one end
    to the other.
    """
    points = [(n, run.at(n, offset)) for n in run.lengths(offset)]
    ratios = [n / run.max_length for n, _ in points] if run.max_length else []
    if not ratios or min(ratios) > 1 or max(ratios) < AREA_TO:
        return None
    first, last = max(r for r in ratios if r <= 1), min(r for r in ratios if r >= AREA_TO)
    kept = [(r, v) for r, (_, v) in zip(ratios, points, strict=True) if first <= r <= last]
    if any(v is None for _, v in kept):
        return None
    scale = np.log if log else np.asarray
    x = np.linspace(scale(1.0), scale(AREA_TO), _AREA_POINTS)
    y = np.interp(np.exp(x) if log else x, [r for r, _ in kept], [v for _, v in kept])
    return float(np.trapezoid(y, x) / (x[-1] - x[0]))


def _retention(run: Measured, offset: int) -> float | None:
    """Exact match at twice the training length, as a part of that at it."""
    near, far = run.at(run.max_length, offset), run.at(2 * run.max_length, offset)
    return None if not near or far is None else far / near


def _in_distribution(run: Measured, offset: int) -> float | None:
    return statistics.mean(v for n, v in run.curve(offset) if n <= run.max_length)


def _loss(run: Measured, _: int) -> float | None:
    found = validation_loss(run.record)
    return found if math.isfinite(found) else None


def _change(row: Mapping[str, Any]) -> str | None:
    return row["override"] and row["override"]["label"]


_OF_A_RUN = {
    "in_distribution": _in_distribution,
    "in_distribution_loss": _loss,
    "trained_length": lambda run, offset: run.at(run.max_length, offset),
    "retention": _retention,
    "auc": area,
    "log_auc": lambda run, offset: area(run, offset, log=True),
    "L90": lambda run, offset: limit(run, 0.9, offset),
    "L99": lambda run, offset: limit(run, 0.99, offset),
}
