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
from pe_lab.results import measured, variant_names
from pe_lab.results.results import EVALUATED_WITH, Results, Variant
from pe_lab.runs.analysis_spec import AS_TRAINED, SEPARATOR, MetricPoint, MetricSpec, TableSpec
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
    points_of: dict[tuple[Key, Key], list[Point]]

    def at(self, row: Key, column: Key) -> list[Point]:
        """Return the points of a cell."""
        return self.points_of.get((row, column), [])

    @property
    def points(self) -> list[Point]:
        """The points of all cells."""
        return list(itertools.chain(*self.points_of.values()))

    def seeds(self, row: Key, column: Key) -> list[Value]:
        """Return the values of the table's metric for the runs of a cell."""
        points = self.at(row, column)
        if not points:
            return []
        # All points of a cell have its length and offset.
        metric = metric_at(self.spec, points[0])
        variants = one_a_task(self.spec, points)
        runs = itertools.chain(*(variant.measured for variant in variants))
        return measured.values(runs, metric)


def specs(results: Results) -> list[TableSpec]:
    """Return the declared tables, and one for each grid of overrides that none of them shows.

    A grid of one axis is shown by length, a grid of two axes at each length.
    """
    tables = list(results.spec.tables)
    dimensions = set(itertools.chain(*(spec.dimensions for spec in tables)))
    trained = [variant.labels for variant in results.trained]
    axes = variant_names.axes_of(trained)
    varied = [axis for axis in axes if variant_names.is_varied(axis, trained)]
    for rows, *columns in results.override_axes:
        if len(columns) > 1 or rows in dimensions:
            continue  # it has more axes than a table, or a declared table shows it
        if columns:
            table = TableSpec(rows=(rows,), columns=tuple(columns), each=(*varied, "length"))
        else:
            table = TableSpec(rows=(rows,), columns=("length",), each=tuple(varied))
        tables.append(table)
    return tables


def is_grid(results: Results, spec: TableSpec) -> bool:
    """Return whether a table has an axis of evaluation overrides."""
    axes = itertools.chain(*results.override_axes)
    dimensions = (*spec.dimensions, *spec.only)
    return not set(axes).isdisjoint(dimensions)


def grids(results: Results, spec: TableSpec) -> list[TableGrid]:
    """Return the tables of a spec, one for each label on the dimensions `each`."""
    points = _points(results, spec)
    for dimension, labels in spec.only.items():
        # The labels of `only` are text, and lengths are numbers.
        texts = points[dimension].astype(str)
        points = points[texts.isin(labels)]
    tables = []
    for kind, of_table in _groups(points, spec.each):
        tables.append(_grid(spec, kind, of_table))
    return tables


def _grid(spec: TableSpec, kind: Key, points: pd.DataFrame) -> TableGrid:
    cells = {}
    rows = []
    for row, of_row in _groups(points, spec.rows):
        rows.append(row)
        for column, of_cell in _groups(of_row, spec.columns):
            cells[row, column] = list(of_cell["point"])
    # A column that nobody has measured is left out, unless no column is measured.
    measured = points[points["measured"].astype(bool)]
    of_columns = points if measured.empty else measured
    columns = [column for column, _ in _groups(of_columns, spec.columns)]
    return TableGrid(spec, kind, rows, columns, cells)


def _groups(points: pd.DataFrame, dimensions: Sequence[str]) -> list[tuple[Key, pd.DataFrame]]:
    """Return the points of each combination of labels, in the order of the sweep.

    Numbers are in their own order.
    """
    if not dimensions:
        # groupby needs a key.
        return [((), points)] if len(points) else []
    keys = []
    for dimension in dimensions:
        labels = list(points[dimension].unique())
        if as_numbers(labels) is not None:
            labels.sort(key=float)
        # Categories keep this order, in which groupby then returns the groups.
        categories = pd.Index(labels, dtype=object)
        ordered = pd.Categorical(points[dimension], categories, ordered=True)
        keys.append(pd.Series(ordered, index=points.index))
    return list(points.groupby(keys, observed=True, sort=True))


def _points(results: Results, spec: TableSpec) -> pd.DataFrame:
    dimensions = (*spec.dimensions, *spec.only)
    lengths: list[int | None] = [None]
    if "length" in dimensions:
        lengths = [*results.lengths]
    offsets = [spec.metric.point.offset]
    if "offset" in dimensions:
        offsets = results.offsets
    rows = []
    for variant in _variants(results, spec):
        labels = {EVALUATED_WITH: AS_TRAINED, "variant": variant.name, **variant.labels}
        measured = set()
        for run in variant.measured:
            measured |= {(length, offset) for length, offset, _ in run.rows}
        for offset, length in itertools.product(offsets, lengths):
            point = {
                "point": Point(variant, length, offset),
                "measured": length is None or (length, offset) in measured,
                "length": length,
                "offset": offset,
            }
            rows.append({**labels, **point})
    points = pd.DataFrame(rows, dtype=object)
    for dimension in itertools.chain(*results.override_axes):
        if dimension in dimensions:
            # An evaluation as trained, or with another override, has no place on the axis.
            points = points.dropna(subset=dimension)
    points = points.reindex(columns=points.columns.union(dimensions, sort=False))
    return points.fillna(dict.fromkeys(dimensions, ""))


def _variants(results: Results, spec: TableSpec) -> Sequence[Variant]:
    """Return the variants that have a place in a table."""
    dimensions = {*spec.dimensions, *spec.only}
    if is_grid(results, spec):
        override_axes = set(itertools.chain(*results.override_axes))
        axes = override_axes & dimensions
        # Two grids may share an axis.
        of_grid = [v for v in results.variants if set(v.override_axes) == axes]
        return of_grid or results.variants
    if EVALUATED_WITH in dimensions:
        return results.variants
    if "variant" in dimensions:
        # Points of a grid of overrides would be rows of their own.
        return results.without_grids().variants
    return results.trained


def metric_at(spec: TableSpec, point: Point, metric: MetricSpec | None = None) -> MetricSpec:
    """Return a metric at the length and the offset of a point, if the table has these dimensions.

    Args:
      metric: None: the metric of the table.
    """
    metric = metric or spec.metric
    if point.length is not None:
        at_point = MetricPoint(length=point.length, offset=point.offset)
    elif "offset" in (*spec.dimensions, *spec.only):
        at_point = dataclasses.replace(metric.point, offset=point.offset)
    else:
        return metric
    return dataclasses.replace(metric, point=at_point)


def one_a_task(spec: TableSpec, points: Sequence[Point]) -> list[Variant]:
    """Return the variants of a cell: one, or one for each task.

    Raises:
      UserError: there are more.
    """
    by_name = {point.variant.name: point.variant for point in points}
    variants = list(by_name.values())
    labels = [variant.labels for variant in variants]
    axes = variant_names.axes_of(labels)
    differ = [axis for axis in axes if variant_names.is_varied(axis, labels)]
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
    names = [re.sub(r"^model\.(encodings\.\d+\.)?", "", name) for name in dimensions]
    return SEPARATOR.join(names)
