"""The signs behind names and numbers, from the columns of variants. notes.py explains them."""

from collections.abc import Sequence

from pe_lab.results import comparable, metrics, notes, summary
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec, TableSpec


def of_name(study: Study, name: str) -> list[str]:
    """Return the signs of the name of a variant, at the point of extrapolation."""
    signs = []
    if study.by_name[name]["reveals_target_length"]:
        signs.append(notes.REVEALS)
    if comparable.saw_positions(study, name, study.spec.extrapolation.point):
        signs.append(notes.SEEN)
    return signs


def of_number(study: Study, spec: TableSpec, names: Sequence[str], metric: MetricSpec) -> str:
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
        if any(comparable.saw_positions(study, name, point) for name in names):
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
