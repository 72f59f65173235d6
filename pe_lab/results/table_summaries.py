"""Summaries of the tables that an analysis spec declares, before they are written or drawn.

A table has one or more dimensions of rows and of columns. Each label of a dimension in `each` has a
table of its own. Dimensions are axes of the sweep, the variant, the length, the offset and the
evaluation override. A cell has one variant, or one for each task.
"""

import dataclasses
import itertools
import re
from collections.abc import Sequence

import pandas as pd

from pe_lab.results import comparable, summary, variant_names
from pe_lab.results.formats import DASH, Cell
from pe_lab.results.study import EVALUATED_WITH, Study
from pe_lab.results.summary import Key, Summary, groups
from pe_lab.runs.settings.declarations import check_keys
from pe_lab.runs.studies.analysis_spec import (
    AS_TRAINED,
    DIMENSIONS,
    SEPARATOR,
    MetricSpec,
    TableSpec,
)
from pe_lab.runs.studies.check_analysis_spec import check_cell


def specs(study: Study) -> list[TableSpec]:
    """Return the declared tables, and one for each grid of overrides that none of them shows.

    A grid of one axis is shown by length, a grid of two axes at each length.
    """
    tables = list(study.spec.tables)
    shown = [set(spec.dimensions) for spec in tables]
    varied = [axis for axis in study.axes if study.trained[axis].nunique() > 1]
    for rows, *columns in study.grids:
        if len(columns) > 1 or any({rows, *columns} <= dimensions for dimensions in shown):
            continue  # it has more axes than a table, or a declared table shows it
        if columns:
            table = TableSpec(rows=(rows,), columns=tuple(columns), each=(*varied, "length"))
        else:
            table = TableSpec(rows=(rows,), columns=("length",), each=tuple(varied))
        if study.is_of_text:  # it has no exact match
            table = dataclasses.replace(table, metric=MetricSpec(study.headline))
        tables.append(table)
    return tables


def without_grids(study: Study) -> Study:
    """Return the study without the points of override grids, which have their own tables."""
    variants = study.variants[study.variants["grid"].map(len) == 0]
    cases = study.cases[study.cases["variant"].isin(variants.index)]
    return dataclasses.replace(study, variants=variants, cases=cases)


def is_grid(study: Study, spec: TableSpec) -> bool:
    """Return whether a table has an axis of evaluation overrides."""
    axes = itertools.chain(*study.grids)
    return not set(axes).isdisjoint((*spec.dimensions, *spec.only))


def summaries(study: Study, spec: TableSpec) -> dict[Key, Summary]:
    """Return the summaries of a table, by its labels on the dimensions `each`.

    Their columns are the labels of the spec's columns, or (measure,) for each of its measures.

    Args:
      study: of the variants that validation chose.

    Raises:
      UserError: rows and columns leave several variants in one cell.
    """
    points = _points(study, spec)
    for dimension, labels in spec.only.items():
        # The labels of `only` are text, and lengths are numbers.
        points = points[points[dimension].astype(str).isin(labels)]
    return {kind: _summary(study, spec, part) for kind, part in groups(points, spec.each).items()}


def _summary(study: Study, spec: TableSpec, points: pd.DataFrame) -> Summary:
    for of_cell in groups(points, (*spec.rows, *spec.columns)).values():
        names = of_cell["variant"].unique()
        check_cell(spec, [variant_names.labels(study, name) for name in names])
    cells: dict[tuple[Key, Key], Cell] = {}
    values: list[pd.DataFrame] = []
    for metric in spec.metrics:
        for at_point, part in _by_point(spec, metric, points):
            of_point = _at_point(study, spec, at_point, part)
            values.append(of_point.values)
            for (row, column), cell in of_point.cells.items():
                cells[row, (metric,) if spec.measures else column] = cell
    # A column that nobody has measured is left out, unless no column is measured.
    measured = points[points["measured"]]
    columns = list(groups(points if measured.empty else measured, spec.columns))
    if spec.measures:
        columns = [(metric,) for metric in spec.measures]
    rows = list(groups(points, spec.rows))
    return Summary(rows, columns, cells, Cell(DASH), pd.concat(values))


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


def _at_point(study: Study, spec: TableSpec, metric: MetricSpec, points: pd.DataFrame) -> Summary:
    """Return the summary of a metric at one length and offset, with signs behind its numbers."""
    dimensions = [*spec.rows, *spec.columns]
    labels = points[list(dict.fromkeys(["variant", *dimensions]))]
    # An override's case has the labels of its training, so the labels of the point replace them.
    repeated = [axis for axis in dimensions if axis in study.cases and axis != "variant"]
    cases = study.cases.drop(columns=repeated).merge(labels, on="variant")
    without_signs = summary.of_metric(study, cases, metric, spec.rows, spec.columns)
    cells = {}
    for key, of_cell in groups(points, dimensions).items():
        row, column = key[: len(spec.rows)], key[len(spec.rows) :]
        cell = without_signs.at(row, column)
        if cell.text != DASH:
            names = list(dict.fromkeys(of_cell["variant"]))
            text = comparable.signs_of_number(study, spec, names, metric)
            cell = dataclasses.replace(cell, text=cell.text + text, signs=text)
        cells[row, column] = cell
    return dataclasses.replace(without_signs, cells=cells)


def _points(study: Study, spec: TableSpec) -> pd.DataFrame:
    """Return the variants of a table at its lengths and offsets, with their labels."""
    dimensions = (*spec.dimensions, *spec.only)
    check_keys("The study", dimensions, (*study.axes, *itertools.chain(*study.grids), *DIMENSIONS))
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
    tested = _tested(study)
    keys = zip(points["variant"], points["length"], points["offset"], strict=True)
    return points.assign(measured=[key[1] is None or key in tested for key in keys])


def _tested(study: Study) -> set[tuple[str, int, int]]:
    """Return the variant, length and offset of each test."""
    is_test = study.measured["split"] == "test"
    points = study.measured.loc[is_test, ["run", "evaluation", "length", "offset"]]
    cases = study.cases.loc[study.cases["status"] == "finished", ["variant", "run", "evaluation"]]
    tests = cases.merge(points.drop_duplicates(), on=["run", "evaluation"])
    return set(zip(tests["variant"], tests["length"], tests["offset"], strict=True))


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
        return without_grids(study).variants
    return study.trained


def title(dimensions: Sequence[str]) -> str:
    """Return dimensions as a heading.

    "model." is left out, and of an axis of one encoding, model.encodings.0.combine, only the end
    is kept.
    """
    names = [re.sub(r"^model\.(encodings\.\d+\.)?", "", name) for name in dimensions]
    return SEPARATOR.join(names)
