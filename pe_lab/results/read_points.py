"""The point of a metric in an analysis spec, from plain values."""

from collections.abc import Mapping

from pe_lab.runs.errors import UserError
from pe_lab.runs.studies.analysis_spec import MetricPoint

POINT_KEYS = ("at", "length", "lengths", "offset")
LENGTH_KEYS = ("at", "length", "lengths")  # they exclude each other


def metric_point(where: str, settings: Mapping[str, object]) -> MetricPoint:
    """Return the point of the keys at, length, lengths and offset. Other keys are ignored."""
    # The settings of a metric have other keys too, such as its name.
    stated = {key: settings[key] for key in POINT_KEYS if key in settings}
    if len(stated.keys() & set(LENGTH_KEYS)) > 1:
        raise UserError(f"{where}: at, length and lengths exclude each other, got {stated!r}.")
    error = UserError(
        f"{where}: a point is at=2, length=16, lengths=(41, 500) or offset=8, got {stated!r}."
    )
    at, length, lengths, offset = map(stated.get, POINT_KEYS)
    if at is not None:
        if not isinstance(at, int | float) or at <= 0:
            raise error
        at = float(at)
    if length is not None and (not isinstance(length, int) or length < 1):
        raise error
    if lengths is not None:
        if not isinstance(lengths, list | tuple) or len(lengths) != 2:
            raise error
        first, last = lengths
        if not isinstance(first, int) or not isinstance(last, int) or first > last:
            raise error
        lengths = (first, last)
    if offset is None:
        offset = 0  # as trained
    if not isinstance(offset, int) or offset < 0:
        raise error
    return MetricPoint(at, length, lengths, offset)
