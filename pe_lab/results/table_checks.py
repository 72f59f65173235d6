"""Checks of a table of an analysis spec: length and offset of its metrics are stated once."""

from pe_lab.results import metrics
from pe_lab.runs.errors import UserError
from pe_lab.runs.studies.analysis_spec import MetricSpec, TableSpec


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
    for dimension in ("length", "offset"):
        if dimension in table.only and dimension not in table.dimensions:
            raise UserError(
                f"{where}: {dimension!r} in only selects from the {dimension}s in {places}; the "
                f"{dimension} of a metric is part of the metric: {dimension}=8."
            )
    if point.offset and by_offset:
        raise UserError(
            f"{where}: the offset of {name} is stated twice, in the metric and by 'offset' in "
            f"{places}."
        )
