"""The reasons why variants are not compared or ranked, and the signs that say so in tables.

A number would mislead in four cases:

    target      the positions or the layout of one of them reveal the target length
    positions   training showed one of them the positions of the test, though no example that long
    length      one of them was trained on that length
    not solved  the point is beyond training, and no seed of one of them solved the training lengths

Signs are behind names and numbers, and notes.py explains them.
"""

from collections.abc import Sequence
from typing import Any

from pe_lab.results import metrics, notes, summary
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec, TableSpec

Row = dict[str, Any]  # of `Study.variants`
_SAW_POSITIONS = "saw the positions of the test"


def why_not(
    study: Study,
    a: str,
    b: str,
    point: MetricPoint,
    *,
    seen_positions: bool = False,
    unsolved: bool = False,
) -> str:
    """Return why two variants are not compared at a point; "" if they are.

    Args:
      seen_positions: compare them even if training showed one of them the positions of the test.
      unsolved: compare them even if no seed of one of them solved the training lengths.
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
    for name in (a, b):
        row = study.by_name[name]
        if row["is_unsolved"] and is_beyond_training(row, point) and not unsolved:
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


def signs_of_name(study: Study, name: str) -> list[str]:
    """Return the signs of the name of a variant, at the point of extrapolation."""
    signs = []
    if study.by_name[name]["reveals_target_length"]:
        signs.append(notes.REVEALS)
    if saw_positions(study, name, study.spec.extrapolation.point):
        signs.append(notes.SEEN)
    return signs


def signs_of_number(study: Study, spec: TableSpec, names: Sequence[str], metric: MetricSpec) -> str:
    """Return the signs of a number.

    They mark variants that reveal the target length, that saw the positions of the test in
    training, whose test inputs training can draw, and that no seed solved.

    Args:
      metric: at the point of the number.
    """
    point = summary.point_of(study, metric)
    rows = [study.by_name[name] for name in names]
    text = ""
    if any(row["reveals_target_length"] for row in rows) and not is_one_variant_a_row(spec):
        text += notes.REVEALS
    if point is not None:
        if any(saw_positions(study, name, point) for name in names):
            text += notes.SEEN
        # The heading of a length has the sign of repeated inputs itself.
        is_repeated = any(_is_repeated(study, name, point) for name in names)
        if "length" not in spec.columns and is_repeated:
            text += notes.REPEATED
    counts_solved = any(measure.name == "solved" for measure in spec.measures)
    if metrics.BY_NAME[metric.name].of_training or counts_solved:
        return text
    if any(row["runs"] for row in rows) and all(row["is_unsolved"] for row in rows):
        text += notes.UNSOLVED
    return text


def _is_repeated(study: Study, name: str, point: MetricPoint) -> bool:
    """Return whether training can draw some of the test inputs at a point."""
    row = study.by_name[name]
    if point.lengths is None:
        return point.length_for(row["max_length"]) in row["repeated"]
    first, last = point.lengths
    return any(first <= length <= last for length in row["repeated"])


def is_one_variant_a_row(spec: TableSpec) -> bool:
    """Return whether a row is of one variant, so that its name has the sign and not each number."""
    return spec.rows == ("variant",) or bool(spec.measures)
