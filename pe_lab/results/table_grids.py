"""Declared tables before they are written: the cells of an analysis spec by row and column.

A table has one or more dimensions of rows and of columns. Each label of a dimension in `each` has a
table of its own. Dimensions are axes of the sweep, the variant, the length, the offset and the
evaluation override. A cell has one variant, or one for each task.
"""

import dataclasses
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from pe_lab.results import signs, summary
from pe_lab.results.formats import DASH, Cell
from pe_lab.results.study import EVALUATED_WITH, Study
from pe_lab.results.summary import Key, groups
from pe_lab.runs.analysis_spec import AS_TRAINED, SEPARATOR, MetricSpec, TableSpec
from pe_lab.runs.check_analysis_spec import check_cell


@dataclass(frozen=True)
class TableGrid:
    """One table before it is written.

    Attributes:
      kind: its labels on the dimensions `each` of the spec.
      points: a row for each variant, length and offset, with its labels on all dimensions.
      values: the values of the table's metric, one row for each run.
      cells: of each metric of the spec, by row and column; () is the column of a measure.
    """

    spec: TableSpec
    kind: Key
    rows: list[Key]
    columns: list[Key]
    points: pd.DataFrame
    values: pd.DataFrame
    cells: dict[tuple[Key, Key, MetricSpec], Cell]

    def at(self, row: Key, column: Key, metric: MetricSpec | None = None) -> Cell:
        """Return a cell; a dash if no variant belongs there."""
        return self.cells.get((row, column, metric or self.spec.metric), Cell(DASH))


def specs(study: Study) -> list[TableSpec]:
    """Return the declared tables, and one for each grid of overrides that none of them shows.

    A grid of one axis is shown by length, a grid of two axes at each length.
    """
    tables = list(study.spec.tables)
    dimensions = set(itertools.chain(*(spec.dimensions for spec in tables)))
    varied = [axis for axis in study.axes if study.trained[axis].nunique() > 1]
    for rows, *columns in study.grids:
        if len(columns) > 1 or rows in dimensions:
            continue  # it has more axes than a table, or a declared table shows it
        if columns:
            table = TableSpec(rows=(rows,), columns=tuple(columns), each=(*varied, "length"))
        else:
            table = TableSpec(rows=(rows,), columns=("length",), each=tuple(varied))
        tables.append(table)
    return tables


def is_grid(study: Study, spec: TableSpec) -> bool:
    """Return whether a table has an axis of evaluation overrides."""
    axes = itertools.chain(*study.grids)
    return not set(axes).isdisjoint((*spec.dimensions, *spec.only))


def grids(study: Study, spec: TableSpec) -> list[TableGrid]:
    """Return the tables of a spec, one for each label on the dimensions `each`."""
    points = _points(study, spec)
    for dimension, labels in spec.only.items():
        # The labels of `only` are text, and lengths are numbers.
        points = points[points[dimension].astype(str).isin(labels)]
    return [_grid(study, spec, kind, part) for kind, part in groups(points, spec.each).items()]


def _grid(study: Study, spec: TableSpec, kind: Key, points: pd.DataFrame) -> TableGrid:
    cells: dict[tuple[Key, Key, MetricSpec], Cell] = {}
    # A column that nobody has measured is left out, unless no column is measured.
    measured = points[points["measured"]]
    of_columns = points if measured.empty else measured
    columns = list(groups(of_columns, spec.columns))
    values: list[pd.DataFrame] = []
    num_rows = len(spec.rows)
    dimensions = (*spec.rows, *spec.columns)
    by_cell = groups(points, dimensions)
    for of_cell in by_cell.values():
        check_cell(spec, [study.labels(name) for name in of_cell["variant"].unique()])
    for metric in spec.metrics:
        for at_point, part in _by_point(spec, metric, points):
            of_part, of_runs = _cells(study, spec, at_point, part)
            values.append(of_runs)
            for key, cell in of_part.items():
                cells[key[:num_rows], key[num_rows:], metric] = cell
    rows = list(groups(points, spec.rows))
    return TableGrid(spec, kind, rows, columns, points, pd.concat(values), cells)


def _by_point(
    spec: TableSpec, metric: MetricSpec, points: pd.DataFrame
) -> list[tuple[MetricSpec, pd.DataFrame]]:
    """Return the metric at each length and offset of a table, with the points there."""
    stated = [dimension for dimension in ("length", "offset") if dimension in spec.dimensions]
    parts = []
    for key, part in groups(points, stated).items():
        values = dict(zip(stated, key, strict=True))
        point = metric.point
        if "length" in values:
            point = dataclasses.replace(point, length=int(values["length"]))
        if "offset" in values:
            point = dataclasses.replace(point, offset=int(values["offset"]))
        parts.append((dataclasses.replace(metric, point=point), part))
    return parts


def _cells(
    study: Study, spec: TableSpec, metric: MetricSpec, points: pd.DataFrame
) -> tuple[dict[Key, Cell], pd.DataFrame]:
    """Return the cells of a metric at one length and offset, with their signs, and the values."""
    dimensions = [*spec.rows, *spec.columns]
    labels = points[list(dict.fromkeys(["variant", *dimensions]))]
    # An override's case has the labels of its training, so the labels of the point replace them.
    repeated = [axis for axis in dimensions if axis in study.cases and axis != "variant"]
    cases = study.cases.drop(columns=repeated).merge(labels, on="variant")
    result = summary.of_metric(study, cases, metric, dimensions)
    cells = {}
    for key, of_cell in groups(points, dimensions).items():
        cell = result.at(key)
        if cell.text != DASH:
            names = list(dict.fromkeys(of_cell["variant"]))
            text = signs.of_number(study, spec, names, metric)
            cell = dataclasses.replace(cell, text=cell.text + text, signs=text)
        cells[key] = cell
    return cells, result.values


def _points(study: Study, spec: TableSpec) -> pd.DataFrame:
    """Return the variants of a table at its lengths and offsets, with their labels."""
    dimensions = (*spec.dimensions, *spec.only)
    variants = _variants(study, spec)
    labels = [d for d in dimensions if d in variants and d not in ("length", "offset")]
    points = variants[list(dict.fromkeys(labels))].assign(variant=variants.index)
    if EVALUATED_WITH in points:
        # "" would be a heading without a word.
        points[EVALUATED_WITH] = points[EVALUATED_WITH].replace("", AS_TRAINED)
    for axis in itertools.chain(*study.grids):
        if axis in dimensions:
            # An evaluation as trained, or with another override, has no label on the axis.
            points = points[points[axis] != ""]
    lengths: list[int | None] = [*study.lengths] if "length" in dimensions else [None]
    offsets = study.offsets if "offset" in dimensions else [spec.metric.point.offset]
    places = itertools.product(offsets, lengths)
    place = pd.DataFrame(list(places), columns=["offset", "length"], dtype=object)
    points = points.merge(place, how="cross")
    tested = set(study.tested[["variant", "length", "offset"]].itertuples(index=False, name=None))
    keys = zip(points["variant"], points["length"], points["offset"], strict=True)
    points["measured"] = [key[1] is None or key in tested for key in keys]
    missing = [d for d in dimensions if d not in points]
    return points.assign(**dict.fromkeys(missing, ""))


def _variants(study: Study, spec: TableSpec) -> pd.DataFrame:
    """Return the variants that belong in a table."""
    dimensions = {*spec.dimensions, *spec.only}
    if is_grid(study, spec):
        axes = set(itertools.chain(*study.grids)) & dimensions
        # Two grids may share an axis.
        of_grid = study.variants[[set(grid) == axes for grid in study.variants["grid"]]]
        return study.variants if of_grid.empty else of_grid
    if EVALUATED_WITH in dimensions:
        return study.variants
    if "variant" in dimensions:
        # Points of a grid of overrides would be rows of their own.
        return study.without_grids().variants
    return study.trained


def title(dimensions: Sequence[str]) -> str:
    """Return dimensions as a heading.

    "model." is left out, and of an axis of one encoding, model.encodings.0.combine, only the end
    is kept.
    """
    names = [re.sub(r"^model\.(encodings\.\d+\.)?", "", name) for name in dimensions]
    return SEPARATOR.join(names)
