"""The values of one run: its test rows, and metrics at the points of an analysis spec."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from pe_lab.metrics.base import LengthMetric, RunMetric, Value
from pe_lab.results import statistics
from pe_lab.results.metrics import BY_NAME
from pe_lab.runs import record_rows, records, validation
from pe_lab.runs.analysis_spec import Extrapolation, MetricPoint, MetricSpec
from pe_lab.runs.record_schema import JsonObject, RecordRow


@dataclass(frozen=True)
class Measured:
    """A run with its test rows, evaluated as trained or with an override.

    Attributes:
      extrapolation: the criterion of the study.
    """

    record: JsonObject
    override: str | None = None
    extrapolation: Extrapolation = field(default_factory=Extrapolation)

    @cached_property
    def rows(self) -> dict[tuple[int, int, str], RecordRow]:
        """Test rows by length, offset and metric."""
        rows = {}
        for row in record_rows.preferred_rows(self.record):
            label = None
            if row["override"] is not None:
                label = row["override"]["label"]
            if row["split"] == "test" and label == self.override:
                key = (row["length"], row["offset"], row["metric"])
                rows[key] = row
        return rows

    @property
    def finished(self) -> bool:
        """Whether it was trained to the end and evaluated."""
        return self.record["status"] == "finished"

    @property
    def seed(self) -> tuple[int, int]:
        """Seeds of weights and of data. Runs of two variants with equal seeds are a pair."""
        member = self.record["member"]
        return member["seed"], member["data_seed"]

    @property
    def max_length(self) -> int:
        """Training length; 0 for a run that failed."""
        exposure = self.record["exposure"]
        return exposure["max_length"] if exposure else 0

    def lengths(self, offset: int = 0) -> list[int]:
        """Test lengths at an offset."""
        lengths = {length for length, at_offset, _ in self.rows if at_offset == offset}
        return sorted(lengths)

    def reason(self, length: int, offset: int = 0) -> str | None:
        """Return why a point could not be measured; None if it was, or was never tried."""
        row = self.rows.get((length, offset, "exact_match"))
        if row is None or row["value"] is not None:
            return None
        return row["reason"]

    def at(self, length: int, offset: int = 0, metric: str = "exact_match") -> float | None:
        """Return a metric with values by length; None without a value."""
        entry = BY_NAME.get(metric)
        if isinstance(entry, LengthMetric):
            return entry.of_length(self, length, offset)
        return self.row_value(length, offset, metric)

    def row_value(self, length: int, offset: int, metric: str) -> float | None:
        """Return the value of a test row; None without a row."""
        row = self.rows.get((length, offset, metric))
        return None if row is None else row["value"]

    def curve(self, offset: int = 0, metric: str = "exact_match") -> list[tuple[int, float]]:
        """Return the lengths with a value, and their values."""
        points = []
        for length in self.lengths(offset):
            value = self.at(length, offset, metric)
            if value is not None:
                points.append((length, value))
        return points


def value(run: Measured, metric: MetricSpec) -> Value | None:
    """Return a metric of a run at the metric's point; None without a value."""
    entry = BY_NAME[metric.name]
    # A run that diverged has no test, but it has a training.
    if not run.finished and not entry.of_training:
        return None
    if isinstance(entry, RunMetric):
        return entry.of_run(run, metric.point.offset)
    return at_point(run, metric.name, metric.point)


def values(runs: Iterable[Measured], metric: MetricSpec) -> list[Value]:
    """Return a metric of the runs that have a value, in their order."""
    of_runs = [value(run, metric) for run in runs]
    return [known for known in of_runs if known is not None]


def at_point(run: Measured, name: str, point: MetricPoint) -> float | None:
    """Return a metric at the length of a point, or its mean over the lengths in a range.

    None without a value, or if one of the lengths in the range has no value.
    """
    if point.lengths is None:
        length = point.length_for(run.max_length)
        if length is None:
            return None
        return run.at(length, point.offset, name)
    first, last = point.lengths
    of_lengths = []
    for length in run.lengths(point.offset):
        if first <= length <= last:
            of_length = run.at(length, point.offset, name)
            if of_length is None:
                return None  # a mean over fewer lengths would be another number
            of_lengths.append(of_length)
    return statistics.mean(of_lengths)


def extrapolates(run: Measured, extrapolation: Extrapolation) -> bool | None:
    """Return whether a run is solved and reaches the threshold at the point.

    A run that diverged does not extrapolate at the points of its config, and neither does one whose
    encoding ends before the point. None if the outcome is unknown: the run failed, or nobody has
    measured the point.
    """
    point = extrapolation.point
    length = point.length_for(run.max_length)
    if length is None:
        return None
    if not run.finished:
        evaluate = run.record["config"]["evaluate"]
        is_point = length in evaluate["lengths"] and point.offset in evaluate["offsets"]
        return False if is_point and run.record["status"] == "diverged" else None
    if (length, point.offset, "exact_match") not in run.rows:
        return None  # nobody has measured it
    exact_match = run.at(length, point.offset)
    if exact_match is None:
        return False  # the encoding ends before the point
    is_reached = exact_match >= extrapolation.threshold - records.ROUNDING
    return is_reached and validation.solved(run.record)
