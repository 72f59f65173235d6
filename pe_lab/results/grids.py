"""Declared tables as pandas pivots.

`points` has one row for each variant, length and offset, with a column for each dimension: the
axes of the sweep, the variant, the length, the offset and the evaluation override. A table is a
pivot of it. A cell of the pivot holds one variant, or one variant for each task.
"""

import dataclasses
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from pe_lab.metrics.base import Value
from pe_lab.results import measured
from pe_lab.results.results import EVALUATED_WITH, Results, Variant
from pe_lab.runs.analysis_spec import AS_TRAINED, MetricPoint, MetricSpec, TableSpec
from pe_lab.runs.errors import UserError

Key = tuple[str | int, ...]  # labels on the dimensions of a row or a column


@dataclass(frozen=True)
class Point:
    """A variant at a length and an offset; length None if the table has no dimension `length`."""

    variant: Variant
    length: int | None
    offset: int


@dataclass(frozen=True)
class TableGrid:
    """One table before it is written: the points of each cell.

    Attributes:
      kind: its labels on the dimensions `each` of the spec.
    """

    spec: TableSpec
    kind: Key
    rows: list[Key]
    columns: list[Key]
    found: dict[tuple[Key, Key], list[Point]]

    def at(self, row: Key, column: Key) -> list[Point]:
        """Return the points of a cell."""
        return self.found.get((row, column), [])

    @property
    def points(self) -> list[Point]:
        """The points of all cells."""
        return [point for points in self.found.values() for point in points]

    def seeds(self, row: Key, column: Key) -> list[Value]:
        """Return the values of the table's metric for the runs of a cell."""
        points = self.at(row, column)
        runs = [run for variant in one_a_task(self.spec, points) for run in variant.measured]
        values = [measured.value(run, metric_at(self.spec, points[0])) for run in runs]
        return [value for value in values if value is not None]


def specs(results: Results) -> list[TableSpec]:
    """Return the declared tables, and one for each grid of overrides that none of them shows.

    A grid of one axis is shown by length, a grid of two axes at each length.
    """
    declared = list(results.spec.tables)
    shown = {dimension for spec in declared for dimension in spec.dimensions}
    trained = [variant.labels for variant in results.variants if variant.override is None]
    swept = dict.fromkeys(axis for labels in trained for axis in labels)
    varied = [axis for axis in swept if len({labels.get(axis) for labels in trained}) > 1]
    for rows, *columns in results.override_axes:
        if len(columns) > 1 or rows in shown:
            continue
        each = (*varied, "length") if columns else tuple(varied)
        table = TableSpec(rows=(rows,), columns=tuple(columns) or ("length",), each=each)
        declared.append(table)
    return declared


def is_grid(results: Results, spec: TableSpec) -> bool:
    """Return whether a table has an axis of evaluation overrides."""
    axes = itertools.chain(*results.override_axes)
    return not set(axes).isdisjoint((*spec.dimensions, *spec.only))


def grids(results: Results, spec: TableSpec) -> list[TableGrid]:
    """Return the tables of a spec, one for each label on the dimensions `each`."""
    points = _points(results, spec)
    for dimension, labels in spec.only.items():
        points = points[points[dimension].astype(str).isin(labels)]
    return [_grid(spec, kind, part) for kind, part in _groups(points, spec.each)]


def _grid(spec: TableSpec, kind: Key, points: pd.DataFrame) -> TableGrid:
    measured = points[points["measured"].astype(bool)]
    columns = measured if len(measured) else points
    cells = {}
    for row, part in _groups(points, spec.rows):
        for column, cell in _groups(part, spec.columns):
            cells[row, column] = list(cell["point"])
    rows = [row for row, _ in _groups(points, spec.rows)]
    return TableGrid(
        spec, kind, rows, [column for column, _ in _groups(columns, spec.columns)], cells
    )


def _groups(points: pd.DataFrame, dimensions: Sequence[str]) -> list[tuple[Key, pd.DataFrame]]:
    """Return the points of each combination of labels, in the order of the sweep.

    Numbers are in their own order.
    """
    if not dimensions:
        return [((), points)] if len(points) else []
    keys = []
    for dimension in dimensions:
        labels = list(points[dimension].unique())
        if as_numbers(labels) is not None:
            labels.sort(key=float)
        categories = pd.Index(labels, dtype=object)
        ordered = pd.Categorical(points[dimension], categories, ordered=True)
        keys.append(pd.Series(ordered, index=points.index))
    return list(points.groupby(keys, observed=True, sort=True))


def _points(results: Results, spec: TableSpec) -> pd.DataFrame:
    dimensions = (*spec.dimensions, *spec.only)
    lengths: list[int | None] = [None]
    if "length" in dimensions:
        lengths = [*results.lengths]
    offsets = results.offsets if "offset" in dimensions else [spec.metric.point.offset]
    shows_overrides = is_grid(results, spec) or EVALUATED_WITH in dimensions
    variants = (results if shows_overrides else results.without_grids()).variants
    rows = []
    for variant in variants:
        labels = {EVALUATED_WITH: AS_TRAINED, "variant": variant.name, **variant.labels}
        measured = {place[:2] for run in variant.measured for place in run.rows}
        for offset in offsets:
            for length in lengths:
                point = {
                    "point": Point(variant, length, offset),
                    "measured": length is None or (length, offset) in measured,
                    "length": length,
                    "offset": offset,
                }
                rows.append({**labels, **point})
    points = pd.DataFrame(rows, dtype=object)
    of_overrides = set(itertools.chain(*results.override_axes))
    for dimension in of_overrides.intersection(dimensions):
        # An evaluation as trained, or with another override, has no place on the axis.
        points = points[points[dimension].notna()].copy()
    for dimension in dimensions:
        points[dimension] = points[dimension].fillna("") if dimension in points else ""
    return points


def metric_at(spec: TableSpec, point: Point, metric: MetricSpec | None = None) -> MetricSpec:
    """Return a metric at the length and the offset of a point, if the table has these dimensions.

    Args:
      metric: None: the metric of the table.
    """
    metric = metric or spec.metric
    if point.length is not None:
        place = MetricPoint(length=point.length, offset=point.offset)
    elif "offset" in (*spec.dimensions, *spec.only):
        place = dataclasses.replace(metric.point, offset=point.offset)
    else:
        return metric
    return dataclasses.replace(metric, point=place)


def one_a_task(spec: TableSpec, points: Sequence[Point]) -> list[Variant]:
    """Return the variants of a cell: one, or one for each task.

    Raises:
      UserError: there are more.
    """
    variants = list({point.variant.name: point.variant for point in points}.values())
    axes = dict.fromkeys(axis for variant in variants for axis in variant.labels)
    differ = [axis for axis in axes if len({v.labels.get(axis) for v in variants}) > 1]
    if len(variants) > 1 and differ != ["task"]:
        free = ", ".join(map(repr, differ)) or "'variant'"
        table = spec.title or f"rows {title(spec.rows)}"
        raise UserError(
            f"analysis(): the table of {table} leaves several variants in one cell: name {free} "
            f"too, among rows, columns, each or only."
        )
    return variants


def as_numbers(labels: Sequence[str | int | None]) -> list[float] | None:
    """Return labels as numbers; None if one of them is no number."""
    try:
        return [float(label) for label in labels if label is not None]
    except ValueError:
        return None


def title(dimensions: Sequence[str]) -> str:
    """Return dimensions as a heading.

    "model." is left out, and of an axis of one encoding, model.encodings.0.combine, only the end
    is kept.
    """
    return " · ".join(re.sub(r"^model\.(encodings\.\d+\.)?", "", name) for name in dimensions)
