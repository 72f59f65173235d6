"""The outcomes of a run, read from its record.

`validation_values` decide whether it is solved. The curve has the first steps at which it was
solved and extrapolated.

A run that never reaches a threshold is right-censored at its last measured step. A run that
diverged can never reach it, so it is censored at the end of its budget and not where it diverged.

The curve is measured every `evaluate.curve_every` steps. A run reaches a threshold between two
points of the curve (interval censoring), and the later point is counted. Steps are therefore too
large by less than one such interval. The last point is the end of the training.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

from pe_lab.runs.records import record_rows, records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies.analysis_spec import Extrapolation


@dataclass(frozen=True)
class FirstStep:
    """The first measured step at which a run reached a threshold.

    Attributes:
      step: that step. The last measured step of a run that did not reach it.
      reached: False: the number of steps is larger than `step`, and not known.
    """

    step: int
    reached: bool = True

    def __str__(self) -> str:
        return f"{self.step:,}" if self.reached else f"> {self.step:,}"


def is_solved(record: JsonObject) -> bool:
    """Return whether mean exact match over the validation lengths reaches the task's threshold."""
    if record["status"] != "finished":
        return False
    return records.solved(validation_values(record), record["exposure"]["solved_threshold"])


def validation_values(record: JsonObject, metric: str = "exact_match") -> list[float]:
    """Return a validation metric at each length up to the training length."""
    numbers = []
    for row in record_rows.preferred_rows(record):
        if row["metric"] != metric or row["split"] != "validation":
            continue
        is_trained = row["length"] <= record["exposure"]["max_length"]
        if is_trained and row["override"] is None and row["value"] is not None:
            numbers.append(row["value"])
    return numbers


def mean_validation_loss(record: JsonObject) -> float:
    """Return the mean validation loss up to the training length; infinite without one."""
    losses: list[float] = []
    if record["status"] == "finished":
        losses = validation_values(record, "negative_log_likelihood")
    return math.fsum(losses) / len(losses) if losses else math.inf


def steps_to_solve(record: JsonObject) -> FirstStep | None:
    """Return the first step at which the run was solved on its curve.

    It is the first point at which the mean exact match over the curve's lengths up to the training
    length reaches the task's threshold. Lengths count that all points have. None without such a
    length.
    """
    exposure = record["exposure"]
    if exposure is None:
        return None
    lengths = [length for length in _lengths(record) if length <= exposure["max_length"]]
    return _first_step(record, lengths, exposure["solved_threshold"])


def steps_to_extrapolate(record: JsonObject, extrapolation: Extrapolation) -> FirstStep | None:
    """Return the first step at which exact match at the declared length reached its threshold.

    None if a point of the curve does not have this length, or if the point has a position offset.
    """
    exposure, point = record["exposure"], extrapolation.point
    if exposure is None or point.offset:
        return None
    length = point.length_for(exposure["max_length"])
    lengths = [length] if length in _lengths(record) else []
    return _first_step(record, lengths, extrapolation.threshold)


def measured_to(record: JsonObject) -> int | None:
    """Return the step at which a run that never gets there is censored; None without a curve."""
    if not record["curve"]:
        return None
    if record["status"] == "diverged":
        steps: int = record["config"]["train"]["steps"]
        return steps
    last: int = record["curve"][-1]["step"]
    return last


def _lengths(record: JsonObject) -> set[int]:
    """The lengths that every point of a curve has."""
    # A run that was resumed after a change of evaluate.curve_lengths has two kinds of points.
    of_points = [set(map(int, point["exact_match"])) for point in record["curve"]]
    return set.intersection(*of_points) if of_points else set()


def _first_step(
    record: JsonObject, lengths: Collection[int | None], threshold: float
) -> FirstStep | None:
    last = measured_to(record)
    if not lengths or last is None:
        return None
    for point in record["curve"]:
        values = [point["exact_match"][str(length)] for length in lengths]
        if records.solved(values, threshold):
            return FirstStep(point["step"])
    return FirstStep(last, reached=False)
