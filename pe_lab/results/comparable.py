"""The reasons why variants are not compared or ranked.

A number would mislead in four cases:

    target      the positions or the layout of one of them reveal the target length
    positions   training showed one of them the positions of the test, though no example that long
    length      one of them was trained on that length
    not solved  the point is beyond training, and no seed of one of them solved the training lengths
"""

from typing import Any

from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricPoint

Row = dict[str, Any]  # of `Study.variants`
_SAW_POSITIONS = "saw the positions of the test"


def why_not(
    study: Study, a: str, b: str, point: MetricPoint, *, seen_positions: bool = False
) -> str:
    """Return why two variants are not compared at a point; "" if they are.

    Args:
      seen_positions: compare them even if training showed one of them the positions of the test.
    """
    for name in (a, b):
        if not study.by_name[name]["finished"]:
            return f"{name} has no finished run"
    ignored = {_SAW_POSITIONS} if seen_positions else set()
    of_a = set(apart(study, a, point)) - ignored
    of_b = set(apart(study, b, point)) - ignored
    # Two variants that share a reason have equal conditions.
    if of_a - of_b:
        return f"{a} {min(of_a - of_b)}"
    if of_b - of_a:
        return f"{b} {min(of_b - of_a)}"
    if study.has_text:
        return ""  # a text has no exact match, by which runs are solved
    for name in (a, b):
        row = study.by_name[name]
        if not row["solved"] and is_beyond_training(row, point):
            return f"{name} did not solve the training lengths with any seed"
    return ""


def apart(study: Study, name: str, point: MetricPoint) -> tuple[str, ...]:
    """Return the reasons why a variant is not ranked with others at a point.

    A variant that did not solve the training lengths has none here; `by_name` has its "solved".
    """
    row = study.by_name[name]
    length = point.length_for(row["max_length"])
    reasons = []
    if row["reveals_target_length"]:
        reasons.append("reveals the target length")
    if saw_positions(study, name, point):
        reasons.append(_SAW_POSITIONS)
    if length is not None and length <= row["max_length"]:
        reasons.append("was trained on that length")
    return tuple(reasons)


def is_beyond_training(row: Row, point: MetricPoint) -> bool:
    """Return whether a point is beyond the lengths or positions of a variant's training."""
    length = point.length_for(row["max_length"])
    # Without a single length, such as for a range, the stricter rule applies.
    return bool(point.offset) or length is None or length > row["max_length"]


def saw_positions(study: Study, name: str, point: MetricPoint) -> bool:
    """Return whether training showed positions as large as a test beyond its lengths has.

    For a range of lengths, the longest measured one counts.
    """
    row = study.by_name[name]
    length = point.length_for(row["max_length"])
    if point.lengths is not None:
        length = max((n for n in study.lengths if n <= point.lengths[1]), default=None)
    return point.offset <= row["seen_offsets"].get(length, -1)
