"""The validation of a run over the training lengths: whether it is solved, and its loss."""

import math

from pe_lab.runs.records import record_rows, records
from pe_lab.runs.records.record_schema import JsonObject


def solved(record: JsonObject) -> bool:
    """Return whether mean exact match over the validation lengths reaches the task's threshold."""
    if record["status"] != "finished":
        return False
    return records.solved(values(record), record["exposure"]["solved_threshold"])


def values(record: JsonObject, metric: str = "exact_match") -> list[float]:
    """Return a validation metric at each length up to the training length."""
    numbers = []
    for row in record_rows.preferred_rows(record):
        if row["metric"] != metric or row["split"] != "validation":
            continue
        is_trained = row["length"] <= record["exposure"]["max_length"]
        if is_trained and row["override"] is None and row["value"] is not None:
            numbers.append(row["value"])
    return numbers


def mean_loss(record: JsonObject) -> float:
    """Return the mean validation loss up to the training length; infinite without one."""
    losses: list[float] = []
    if record["status"] == "finished":
        losses = values(record, "negative_log_likelihood")
    return math.fsum(losses) / len(losses) if losses else math.inf
