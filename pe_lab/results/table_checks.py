"""Checks of a table of an analysis spec: length and offset of its metrics are stated once."""

import dataclasses

from pe_lab.results import metrics
from pe_lab.runs.analysis_spec import MetricSpec, TableSpec
from pe_lab.runs.errors import UserError


def check_metric(where: str, table: TableSpec, metric: MetricSpec) -> None:
    """Check that length and offset of a metric are stated once, and only where it has values."""
    name, point = metric.name, metric.point
    entry = metrics.BY_NAME[name]
    by_length = "length" in table.dimensions
    by_offset = "offset" in table.dimensions
    places = "rows, columns or each"
    example = "as in dict(name='exact_match', at=2)"
    if not entry.by_length and point.has_length:
        raise UserError(f"{where}: {name} is one number a run: it takes no at, length or lengths.")
    if not entry.by_length and by_length:
        raise UserError(
            f"{where}: {name} is the same at every length: 'length', the default of columns, "
            f"cannot be in {places}."
        )
    if not entry.by_offset and (by_offset or point.offset):
        raise UserError(
            f"{where}: {name} is the same at every offset: it takes no offset, and 'offset' "
            f"cannot be in {places}."
        )
    if point.has_length and by_length:
        raise UserError(
            f"{where}: the length of {name} is stated twice, in the metric and by 'length' in "
            f"{places}."
        )
    if entry.by_length and not entry.at_extrapolation and not point.has_length and not by_length:
        raise UserError(
            f"{where}: {name} has a value at each length: put 'length' in {places}, or state one "
            f"{example}."
        )
    if "length" in table.only and not by_length:
        raise UserError(
            f"{where}: 'length' in only selects from the lengths in {places}; the length of a "
            f"metric is part of the metric: length=8."
        )
    if point.offset and (by_offset or "offset" in table.only):
        raise UserError(
            f"{where}: the offset of {name} is stated twice, in the metric and by 'offset' in "
            f"{places} or only."
        )


def at_only_offset(where: str, table: TableSpec) -> TableSpec:
    """Return the table with the offset in `only` moved into its metrics.

    A table with a dimension for offsets keeps it, because there `only` selects from several.
    """
    if "offset" not in table.only or "offset" in table.dimensions:
        return table
    labels = table.only["offset"]
    if len(labels) != 1 or not labels[0].isdecimal():
        raise UserError(
            f"{where}: only takes one offset unless 'offset' is in rows, columns or each, got "
            f"{labels!r}."
        )
    offset = int(labels[0])
    only = {axis: labels for axis, labels in table.only.items() if axis != "offset"}
    measures = tuple(_at_offset(metric, offset) for metric in table.measures)
    metric = _at_offset(table.metric, offset)
    return dataclasses.replace(table, only=only, metric=metric, measures=measures)


def _at_offset(metric: MetricSpec, offset: int) -> MetricSpec:
    # A metric that is the same at every offset takes none.
    if not metrics.BY_NAME[metric.name].by_offset:
        return metric
    point = dataclasses.replace(metric.point, offset=offset)
    return dataclasses.replace(metric, point=point)
