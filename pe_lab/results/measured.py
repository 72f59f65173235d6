"""The values of one run: its test rows, and metrics at the points of an analysis spec."""

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
            label = row["override"]["label"] if row["override"] else None
            if row["split"] == "test" and label == self.override:
                rows[row["length"], row["offset"], row["metric"]] = row
        return rows

    @property
    def finished(self) -> bool:
        """Whether it was trained to the end and evaluated."""
        return self.record["status"] == "finished"

    @property
    def seed(self) -> tuple[int, int]:
        """Seeds of weights and of data. Runs of two variants with equal seeds are a pair."""
        return self.record["member"]["seed"], self.record["member"]["data_seed"]

    @property
    def max_length(self) -> int:
        """Training length; 0 for a run that failed."""
        return self.record["exposure"]["max_length"] if self.record["exposure"] else 0

    def lengths(self, offset: int = 0) -> list[int]:
        """Test lengths at an offset."""
        return sorted({length for length, at, _ in self.rows if at == offset})

    def reason(self, length: int, offset: int = 0) -> str | None:
        """Return why a point could not be measured; None if it was, or was never tried."""
        row = self.rows.get((length, offset, "exact_match"))
        return row["reason"] if row and row["value"] is None else None

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
        pairs = [(length, self.at(length, offset, metric)) for length in self.lengths(offset)]
        return [(length, value) for length, value in pairs if value is not None]


def value(run: Measured, metric: MetricSpec) -> Value | None:
    """Return a metric of a run at the metric's point; None without a value."""
    entry = BY_NAME[metric.name]
    if not run.finished and not entry.of_training:
        return None
    if isinstance(entry, RunMetric):
        return entry.of_run(run, metric.point.offset)
    return at_point(run, metric.name, metric.point)


def at_point(run: Measured, name: str, point: MetricPoint) -> float | None:
    """Return a metric at the length of a point, or its mean over the lengths in a range.

    None without a value, or if one of the lengths in the range has no value.
    """
    if point.lengths is None:
        length = point.length_for(run.max_length)
        return None if length is None else run.at(length, point.offset, name)
    first, last = point.lengths
    values = []
    for length in run.lengths(point.offset):
        if first <= length <= last:
            value = run.at(length, point.offset, name)
            if value is None:
                return None
            values.append(value)
    return statistics.mean(values)


def extrapolates(run: Measured, extrapolation: Extrapolation) -> bool | None:
    """Return whether a run is solved and reaches the threshold at the point.

    A run that diverged does not extrapolate, and neither does one whose encoding ends before the
    point. None if the outcome is unknown: the run failed, or nobody has measured the point.
    """
    if not run.finished:
        return False if run.record["status"] == "diverged" else None
    point = extrapolation.point
    length = point.length_for(run.max_length)
    if length is None or (length, point.offset, "exact_match") not in run.rows:
        return None
    value = run.at(length, point.offset)
    reached = value is not None and value >= extrapolation.threshold - records.ROUNDING
    return validation.solved(run.record) and reached
