"""The tables of the analysis spec: numbers by the labels of rows, columns and single tables.

A table has one or more dimensions of rows, of columns, and `each`, of which every label has a table
of its own. Dimensions are axes of the sweep, the variant, the length, the offset and the evaluation
override. A cell has one variant, or one for each task.
"""

import dataclasses
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from pe_lab.results import comparable, metrics, notes, summary, variant_names
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.study import EVALUATED_WITH, Study
from pe_lab.results.summary import Key, groups
from pe_lab.runs.analysis_spec import AS_TRAINED, SEPARATOR, MetricPoint, MetricSpec, TableSpec
from pe_lab.runs.errors import UserError

SHOWN = {
    "median": "",
    "mean": "mean ± sd",
    "iqm": "interquartile mean",
    "seeds": "every seed",
    "best": "oracle: best setting and seed, by the test",
}
_CAPTIONS = {
    "median": "Median over seeds",
    "mean": "Mean and standard deviation over seeds",
    "iqm": "Interquartile mean over seeds",
    "seeds": "Every seed",
    "best": "Oracle: the best setting and seed, by the test itself",
}


@dataclass(frozen=True)
class Grid:
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
        """Return a cell; one with a dash if no variant has this place."""
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


def tables(study: Study, spec: TableSpec) -> list[Table]:
    """Return the tables of a spec.

    Args:
      study: of the variants that validation chose.

    Raises:
      UserError: rows and columns leave several variants in one cell.
    """
    return [_table(study, grid) for grid in grids(study, spec)]


def grids(study: Study, spec: TableSpec) -> list[Grid]:
    """Return the tables of a spec, one for each label on the dimensions `each`."""
    points = _points(study, spec)
    for dimension, labels in spec.only.items():
        # The labels of `only` are text, and lengths are numbers.
        points = points[points[dimension].astype(str).isin(labels)]
    return [_grid(study, spec, kind, part) for kind, part in groups(points, spec.each).items()]


def _grid(study: Study, spec: TableSpec, kind: Key, points: pd.DataFrame) -> Grid:
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
        _check_variants(study, spec, of_cell)
    for metric in spec.metrics:
        for at_point, part in _by_point(spec, metric, points):
            of_part, of_runs = _cells(study, spec, at_point, part)
            values.append(of_runs)
            for key, cell in of_part.items():
                cells[key[:num_rows], key[num_rows:], metric] = cell
    rows = list(groups(points, spec.rows))
    return Grid(spec, kind, rows, columns, points, pd.concat(values), cells)


def _by_point(
    spec: TableSpec, metric: MetricSpec, points: pd.DataFrame
) -> list[tuple[MetricSpec, pd.DataFrame]]:
    """Return the metric at each length and offset of a table, with the points there."""
    dimensions = (*spec.dimensions, *spec.only)
    stated = [dimension for dimension in ("length", "offset") if dimension in dimensions]
    parts = []
    for key, part in groups(points, stated).items():
        values = dict(zip(stated, key, strict=True))
        if "length" in values:
            point = MetricPoint(length=int(values["length"]), offset=int(part["offset"].iloc[0]))
            metric_at = dataclasses.replace(metric, point=point)
        elif "offset" in values:
            point = dataclasses.replace(metric.point, offset=int(values["offset"]))
            metric_at = dataclasses.replace(metric, point=point)
        else:
            metric_at = metric
        parts.append((metric_at, part))
    return parts


def _cells(
    study: Study, spec: TableSpec, metric: MetricSpec, points: pd.DataFrame
) -> tuple[dict[Key, Cell], pd.DataFrame]:
    """Return the cells of a metric at one length and offset, with their signs, and the values."""
    dimensions = [*spec.rows, *spec.columns]
    labels = points[list(dict.fromkeys(["variant", *dimensions]))]
    repeated = [axis for axis in dimensions if axis in study.cases and axis != "variant"]
    cases = study.cases.drop(columns=repeated).merge(labels, on="variant")
    result = summary.of_metric(study, cases, metric, dimensions)
    cells = {}
    for key, of_cell in groups(points, dimensions).items():
        cell = result.at(key)
        if cell.text != DASH:
            names = list(dict.fromkeys(of_cell["variant"]))
            text = signs(study, spec, names, metric)
            cell = dataclasses.replace(cell, text=cell.text + text, signs=text)
        cells[key] = cell
    return cells, result.values


def _check_variants(study: Study, spec: TableSpec, points: pd.DataFrame) -> None:
    """Check that a cell has one variant, or one for each task.

    Raises:
      UserError: there are more.
    """
    names = list(dict.fromkeys(points["variant"]))
    if len(names) == 1:
        return
    labels = [study.labels(name) for name in names]
    axes = variant_names.axes_of(labels)
    differ = [axis for axis in axes if variant_names.is_varied(axis, labels)]
    if differ != ["task"]:
        free = ", ".join(map(repr, differ)) or "'variant'"
        table = spec.title or f"rows {title(spec.rows)}"
        raise UserError(
            f"analysis(): the table of {table} leaves several variants in one cell: name {free} "
            f"too, among rows, columns, each or only."
        )


def _points(study: Study, spec: TableSpec) -> pd.DataFrame:
    """Return the variants of a table at its lengths and offsets, with their labels."""
    dimensions = (*spec.dimensions, *spec.only)
    variants = _variants(study, spec)
    labels = [d for d in dimensions if d in variants and d not in ("length", "offset")]
    points = variants[list(dict.fromkeys(labels))].assign(variant=variants.index)
    if EVALUATED_WITH in points:
        points[EVALUATED_WITH] = points[EVALUATED_WITH].replace("", AS_TRAINED)
    for axis in itertools.chain(*study.grids):
        if axis in dimensions:
            # An evaluation as trained, or with another override, has no place on the axis.
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
    """Return the variants that have a place in a table."""
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


def signs(study: Study, spec: TableSpec, names: Sequence[str], metric: MetricSpec) -> str:
    """Return the signs of a number.

    They mark variants that reveal the target length, that saw the positions of the test in
    training, whose test inputs training can draw, and that no seed solved.

    Args:
      metric: at the point of the number.
    """
    point = summary.point_of(study, metric)
    rows = [study.by_name[name] for name in names]
    text = ""
    if any(row["reveals_target_length"] for row in rows) and not _is_one_variant_a_row(spec):
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
    if point.lengths is None:
        return (name, point.length_for(study.by_name[name]["max_length"])) in study.repeated
    first, last = point.lengths
    return any(name == other and first <= length <= last for other, length in study.repeated)


def _is_one_variant_a_row(spec: TableSpec) -> bool:
    """Return whether a row is of one variant, so that its name has the sign and not each number."""
    return spec.rows == ("variant",) or bool(spec.measures)


def column(metric: MetricSpec, study: Study) -> str:
    """Return the heading of a metric."""
    if metric.label:
        return metric.label
    entry = metrics.BY_NAME[metric.name]
    words = entry.label
    if entry.by_length:
        words += f" {summary.point_of(study, metric)}"
    elif metric.point.offset:
        words += f", {metric.point}"
    shown = SHOWN[metric.show]
    if shown and entry.style != "count":  # a count is no summary over seeds
        words += f", {shown}"
    return words


def length_name(study: Study, length: int) -> str:
    """Return the heading of a length.

    It has an arrow beyond the training length, if this is the same for all variants, and the sign
    of repeated inputs.
    """
    text = str(length)
    if len(study.max_lengths) == 1 and length > study.max_lengths[0]:
        text = f"→{text}"
    if length in study.repeated_lengths:
        text += notes.REPEATED
    return text


def _table(study: Study, grid: Grid) -> Table:
    spec = grid.spec
    if spec.measures:
        header = [column(metric, study) for metric in spec.measures]
    else:
        header = [heading(study, spec.columns, key) for key in grid.columns]
    reveals = grid.points["variant"].map(study.variants["reveals_target_length"])
    marked = groups(grid.points[reveals], spec.rows) if _is_one_variant_a_row(spec) else {}
    body = []
    for row in grid.rows:
        label = SEPARATOR.join(str(part) for part in row if part != "") or DASH
        if row in marked:
            label += f" {notes.REVEALS}"
        if spec.measures:
            cells = [grid.at(row, (), metric) for metric in spec.measures]
        else:
            cells = [grid.at(row, key) for key in grid.columns]
        body.append((Cell(label), *cells))
    parts = [name_of(spec)]
    for dimension, text in zip(spec.each, grid.kind, strict=True):
        parts.append(_in_title(dimension, text))
    return Table(
        ", ".join(parts),
        _caption(spec),
        (title(spec.rows), *header),
        tuple(body),
        _notes(study, grid, body),
    )


def name_of(spec: TableSpec) -> str:
    """Return the title of a table, or one made from its content."""
    if spec.title or spec.measures:
        return spec.title or f"By {title(spec.rows)}"
    dimensions = [name for name in (*spec.rows, *spec.columns) if name != "variant"]
    by = " and ".join(title([dimension]) for dimension in dimensions)
    label = metrics.BY_NAME[spec.metric.name].label
    measured = f"{label} {spec.metric.point}".strip()
    # str.capitalize would write L90 of a label in small letters.
    return f"{measured[0].upper()}{measured[1:]} by {by}"


def title(dimensions: Sequence[str]) -> str:
    """Return dimensions as a heading.

    "model." is left out, and of an axis of one encoding, model.encodings.0.combine, only the end
    is kept.
    """
    names = [re.sub(r"^model\.(encodings\.\d+\.)?", "", name) for name in dimensions]
    return SEPARATOR.join(names)


def heading(study: Study, dimensions: Sequence[str], key: Key) -> str:
    """Return the heading of a column."""
    words = []
    for dimension, label in zip(dimensions, key, strict=True):
        if dimension == "length":
            words.append(length_name(study, int(label)))
        elif dimension == "offset":
            words.append(f"+{label}")
        else:
            words.append(str(label) or DASH)
    return ", ".join(words) or "all"


def _in_title(dimension: str, label: str | int) -> str:
    if dimension == "offset":
        return f"positions shifted by {label}"
    if dimension == "length":
        return f"length {label}"
    return str(label)


def _caption(spec: TableSpec) -> str:
    is_count = metrics.BY_NAME[spec.metric.name].style == "count"
    if spec.measures or is_count:
        return spec.note
    return f"{_CAPTIONS[spec.metric.show]}. {spec.note}".strip()


def _notes(study: Study, grid: Grid, body: Sequence[Sequence[Cell]]) -> tuple[str, ...]:
    spec = grid.spec
    texts = [cell.text for row in body for cell in row]
    seeds = [study.by_name[name]["finished"] for name in grid.points["variant"].unique()]
    of_table: list[str] = []
    styles = [metrics.BY_NAME[metric.name].style for metric in spec.metrics]
    # Counts and first steps have intervals of their own.
    summaries = set()
    for metric, style in zip(spec.metrics, styles, strict=True):
        if style not in ("count", "first_step"):
            summaries.add(metric.show)
    for show in ("median", "iqm"):
        if show in summaries:
            of_table.append(notes.intervals(seeds, show))
    if any(metric.name == "extrapolates" for metric in spec.metrics):
        of_table += notes.extrapolation(study, seeds)
    # A lone star is a label, not the sign behind a number.
    if any(len(text) > 1 and text.endswith(notes.UNSOLVED) for text in texts):
        of_table.append(notes.NOT_SOLVED)
    if "first_step" in styles:
        of_table.append(notes.FIRST_STEPS)
    if "best" in summaries:
        of_table.append(notes.oracle(study))
    joined = " ".join(texts)
    for sign, explanation in notes.SIGNS.items():
        if sign in joined or _is_in_header(sign, study, spec):
            of_table.append(explanation)
    return tuple(note for note in of_table if note)


def _is_in_header(sign: str, study: Study, spec: TableSpec) -> bool:
    if sign == notes.REPEATED:
        return "length" in spec.columns and bool(study.repeated_lengths)
    by_length = "length" in (*spec.rows, *spec.columns)
    if sign != "→" or not by_length or len(study.max_lengths) != 1:
        return False
    return study.lengths[-1] > study.max_lengths[0]
