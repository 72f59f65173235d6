"""The points at which runs are evaluated, and whether a record has them all."""

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Mapping

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_rows
from pe_lab.runs.records.record_schema import Record, RecordRow
from pe_lab.runs.run import Run
from pe_lab.runs.settings.evaluation_settings import Override, plain
from pe_lab.runs.settings.plugin import Plugin

Counts = Mapping[tuple[str, int], int]  # split and length -> examples, from index 0


@dataclasses.dataclass(frozen=True)
class EvaluationPoint:
    """One point of the grid of an evaluation.

    Attributes:
      split: "validation" or "test".
      length: of the examples, exactly.
      offset: added to every position.
      override: what replaces parts of the trained run; None: nothing.
    """

    split: str
    length: int
    offset: int
    override: Override | None = None

    def row(
        self,
        metric: str,
        value: object,
        count: int,
        reason: str | None = None,
        *,
        attribute: str | None = None,
        **details: object,
    ) -> RecordRow:
        """A row of a record.

        Args:
          details: added to the description of the override.
        """
        override = None if self.override is None else {**self.override.to_dict(), **details}
        return record_rows.row(
            self.split,
            self.length,
            self.offset,
            metric,
            value,
            count,
            reason,
            override,
            attribute=attribute,
        )

    def key(self, attribute: str | None = None) -> record_rows.PointKey:
        """The key of the point's rows in a record, or of its rows by an attribute."""
        override = None if self.override is None else self.override.to_dict()
        return record_rows.key(self.split, self.length, self.offset, override, attribute)

    def is_measured(self, run: Run, keys: Collection[record_rows.PointKey]) -> bool:
        """Return whether a record with these keys has the point, with all attributes of a run."""
        return all(self.key(attribute) in keys for attribute in (None, *run.evaluate.attributes))


def grid(run: Run) -> list[EvaluationPoint]:
    """All points of a run's evaluation, each once.

    Validation is `validation_lengths` at offset 0. The test grid is the product of overrides (none
    first), lengths and offsets.
    """
    evaluate = run.evaluate
    points = [EvaluationPoint("validation", n, 0) for n in evaluate.validation_lengths]
    overrides = (None, *evaluate.overrides)
    product = itertools.product(overrides, evaluate.lengths, evaluate.offsets)
    for override, length, offset in product:
        points.append(EvaluationPoint("test", length, offset, override))
    return list(dict.fromkeys(points))


def missing(
    run: Run,
    points: Iterable[EvaluationPoint],
    measured: Collection[Collection[record_rows.PointKey]],
) -> list[EvaluationPoint]:
    """The points that at least one of several records lacks.

    Args:
      run: with the attributes that a point needs.
      measured: the keys of each record.
    """
    lacking = []
    for point in points:
        if not all(point.is_measured(run, keys) for keys in measured):
            lacking.append(point)
    return lacking


def is_done(run: Run, record: Record | None) -> bool:
    """Whether a run has a record with all points of its evaluation. A failed run is not done.

    Raises:
      UserError: it was measured on other examples, or on another number of them.
    """
    if record is None or record["status"] == "failed":
        return False
    if record["status"] == "diverged":
        return True
    _check_same_task(run, record)
    for override in run.evaluate.overrides:
        record_rows.check_label(record, override.to_dict())
    counts = record_rows.measured_points(record)
    points = grid(run)
    for point in points:
        _check_count(run, point, counts.get(point.key(), 0))
    return all(point.is_measured(run, counts) for point in points)


def _check_count(run: Run, point: EvaluationPoint, count: int) -> None:
    """Refuse a point that was measured on another number of examples; 0: none was defined."""
    num_examples = run.evaluate.num_examples
    if count not in (0, num_examples):
        raise UserError(
            f"The run {run.run_id} has measured length {point.length} on {count} examples and "
            f"this study asks for {num_examples} examples: nothing is overwritten."
        )


def _check_same_task(run: Run, record: Record) -> None:
    """Refuse a record whose rows are for operands of other lengths."""
    measured_operands = record["config"]["evaluate"]["exact_operands"]
    if record["config"]["evaluated_task"] != plain(run.evaluated_task):
        raise UserError(
            f"The run {run.run_id} was measured with config.evaluate.exact_operands="
            f"{measured_operands!r} and this study asks for {run.evaluate.exact_operands!r}: "
            f"choose another results folder."
        )


def example_counts(runs: Iterable[Run]) -> Mapping[Plugin, Counts]:
    """For each task, the number of examples of each split and length that evaluations read."""
    tasks: dict[Plugin, dict[tuple[str, int], int]] = {}
    for run in runs:
        evaluate = run.evaluate
        counts = tasks.setdefault(run.evaluated_task, {})
        for point in grid(run):
            key = (point.split, point.length)
            counts[key] = max(evaluate.num_examples, counts.get(key, 0))
        for length in evaluate.curve_lengths:
            key = ("validation", length)
            counts[key] = max(evaluate.curve_examples, counts.get(key, 0))
    return tasks
