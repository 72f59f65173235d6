"""Pictures of the tables of an analysis spec.

A table is drawn as lines if its columns are numbers. It is drawn as a map of rows and columns if
they are names, and too many to compare in the table itself, or if an axis of evaluation overrides
is among them.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.metrics.base import Limit, Value
from pe_lab.results import cells, declared_tables, metrics, notes, summary, table_summaries
from pe_lab.results.formats import DASH, number
from pe_lab.results.plots import drawing, styles
from pe_lab.results.plots.heat_map import heat_map
from pe_lab.results.plots.lines import lines
from pe_lab.results.plots.plotted import MOST_LINES, REVEALS, Plotted
from pe_lab.results.plots.styles import Style
from pe_lab.results.summary import Key, Summary, as_numbers
from pe_lab.runs.analysis_spec import SEPARATOR, TableSpec
from pe_lab.runs.first_steps import FirstStep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FEWEST_OF_MAP = 4  # rows and columns; a smaller table is read as fast as its picture
_MOST_MAPS = 24  # of one figure
_FEWEST_OF_LINE = 3  # columns
_CENTERS = {
    "median": "medians over seeds",
    "mean": "means over seeds",
    "iqm": "interquartile means over seeds",
    "seeds": "medians over seeds",
    "best": "the best seed and setting on the test",
}
_SIGNS = {
    DASH: f"{DASH} no number",
    notes.REVEALS: REVEALS,
    notes.SEEN: "‡ training showed such positions",
    notes.REPEATED: "§ training can draw some of the inputs",
    "→": "→ beyond training",
    notes.UNSOLVED: "* no seed solved the training lengths",
}


def table(data: Plotted, spec: TableSpec) -> "Figure | None":
    """Return the picture of a table.

    None for a table of several metrics or of counts, without numbers, or too small for a picture.
    """
    is_count = metrics.BY_NAME[spec.metric.name].style == "count"
    if spec.measures or is_count:
        return None
    summaries = table_summaries.summaries(data.with_grids, spec)
    parts = {kind: part for kind, part in summaries.items() if part.values["value"].notna().any()}
    if not parts:
        return None
    can_be_map = len(spec.columns) == 1 and _is_share(spec)  # a map has colors from 0 to 1
    fewest_columns = min(len(part.columns) for part in parts.values())
    num_rows = [len(part.rows) for part in parts.values()]
    if table_summaries.is_grid(data.with_grids, spec):
        # Rows and columns are the two axes of the grid.
        has_rows = max(num_rows) >= 2 and len(spec.rows) == 1
        is_clear = can_be_map and has_rows and len(parts) <= _MOST_MAPS
        return _maps(data, spec, parts) if is_clear else None
    if all(_numbers(part) for part in parts.values()):
        return _lines(data, spec, parts)
    if can_be_map and min(*num_rows, fewest_columns) >= _FEWEST_OF_MAP:
        return _maps(data, spec, parts)
    return None


def _numbers(part: Summary) -> list[float] | None:
    """Return the columns if they are enough numbers for a line."""
    # A column of two dimensions is no number.
    labels = [column[0] for column in part.columns if len(column) == 1]
    if len(labels) < len(part.columns) or len(labels) < _FEWEST_OF_LINE:
        return None
    return as_numbers(labels)


def _is_share(spec: TableSpec) -> bool:
    name = spec.metric.name
    if metrics.BY_NAME[name].style == "share":
        return True
    return name in ("in_distribution", "trained_length", "retention", "auc", "log_auc")


def _lines(data: Plotted, spec: TableSpec, parts: Mapping[Key, Summary]) -> "Figure":
    figure, grid_of_axes = _figure(spec, parts, columns=2, height=2.2)
    metric = metrics.BY_NAME[spec.metric.name]
    looks = _looks(data, parts)
    heights = []
    has_hollow = False
    for axes, part in zip(grid_of_axes, parts.values(), strict=True):
        places = dict(zip(part.columns, _numbers(part) or [], strict=True))
        names = {row: _text(row) for row in part.rows}
        points = _points(spec, part, names, places)
        centers = pd.DataFrame(index=sorted(places.values()), dtype=float)
        for row, name in names.items():
            of_row = {x: _center(spec, part, row, column) for column, x in places.items()}
            centers[name] = pd.Series(of_row, dtype=float).reindex(centers.index)
        is_unsolved = part.values["variant"].map(data.with_grids.variants["is_unsolved"])
        unsolved, solved = part.values[is_unsolved], part.values[~is_unsolved]
        all_solved = {_place(spec, names, places, row) for row in _keys(spec, solved)}
        hollow = {_place(spec, names, places, row) for row in _keys(spec, unsolved)} - all_solved
        lines(
            points,
            x="x",
            by="name",
            order=list(names.values()),
            labels={name: _words(spec.rows, row) for row, name in names.items()},
            looks=looks,
            hollow=hollow,
            centers=centers,
            axes=axes,
        )
        has_hollow |= bool(hollow - {None})
        heights += [points["value"], *(centers[name] for name in centers)]
        if min(places.values()) > 0 and max(places.values()) > 20 * min(places.values()):
            axes.set_xscale("log")
        drawing.ticks_at(axes, places.values())
        axes.set_xlabel(_axis_names(spec.columns))
    # The best of all settings may be above every seed of the chosen one.
    all_heights = pd.concat(heights)
    for axes in grid_of_axes:
        if _is_share(spec):
            drawing.shares(axes, float(all_heights.min()), float(all_heights.max()))
        elif all_heights.min() > 0:
            axes.set_yscale("log")
    grid_of_axes[0].set_ylabel(spec.metric.label or metric.label)
    caption = f"Lines: {_CENTERS[spec.metric.show]}; dots: single seeds"
    if metric.style == "limit":
        caption += "; 0: below the shortest length; the longest length: at least that"
    if metric.style == "first_step":
        caption += "; a run that never got there is at its last measured step"
    if has_hollow:
        caption += "; hollow marks: no seed solved the training lengths"
    drawing.legend(figure)
    drawing.titles(figure, declared_tables.name_of(spec), f"{caption}.")
    return figure


def _keys(spec: TableSpec, values: pd.DataFrame) -> list[tuple[Key, Key]]:
    """Return the row and the column of values."""
    rows = values[list(spec.rows)].itertuples(index=False, name=None)
    columns = values[list(spec.columns)].itertuples(index=False, name=None)
    return list(zip(rows, columns, strict=True))


def _place(
    spec: TableSpec, names: dict[Key, str], places: dict[Key, float], cell: tuple[Key, Key]
) -> tuple[str, float] | None:
    row, column = cell
    return (names[row], places[column]) if column in places else None


def _points(
    spec: TableSpec, part: Summary, names: dict[Key, str], places: dict[Key, float]
) -> pd.DataFrame:
    """Return the values of single runs, with the name of their line and their place on it."""
    style = metrics.BY_NAME[spec.metric.name].style
    values = part.values.assign(height=_values(part.values, style))
    values = values[values["value"].notna()]
    cells = [_place(spec, names, places, cell) for cell in _keys(spec, values)]
    values = values.assign(cell=cells).dropna(subset="cell")
    return values.assign(
        name=[name for name, _ in values["cell"]],
        x=[x for _, x in values["cell"]],
        value=values["height"].map(_height).astype(float),
    ).sort_values("x", kind="stable")


def _center(spec: TableSpec, part: Summary, row: Key, column: Key) -> int | float | None:
    """Return the number that the table shows. For a table of every seed, it is their median."""
    cell = part.at(row, column)
    if spec.metric.show != "seeds":
        if isinstance(cell.value, int | float) and cell.text.startswith("<"):
            return 0.0  # a limit below all lengths
        return cell.value if isinstance(cell.value, int | float) else None
    style = metrics.BY_NAME[spec.metric.name].style
    of_cell = summary.groups(part.values, [*spec.rows, *spec.columns])
    rows = of_cell.get((*row, *column))
    if rows is None:
        return None
    known = [value for value in _values(rows, style) if value is not None]
    middle = cells.middle(known, "median")
    return None if middle is None else _height(middle)


def _values(rows: pd.DataFrame, style: str) -> list[Value | None]:
    return cells.values_of(rows["value"].tolist(), rows["bound"].tolist(), style)


def _height(value: Value) -> int | float:
    """Return a number, the length of a limit (0 if it is below all lengths), or a step."""
    if isinstance(value, Limit):
        return value.length if value.side >= 0 else 0
    if isinstance(value, FirstStep):
        return value.step
    return value


def _looks(data: Plotted, parts: Mapping[Key, Summary]) -> dict[str, Style]:
    """Return the styles of the rows. Rows that are variants have the styles of the variants."""
    rows = [[_text(row) for row in part.rows] for part in parts.values()]
    if set(itertools.chain(*rows)) <= data.looks.keys():
        return data.looks
    return styles.assign([of_part[:MOST_LINES] for of_part in rows])


def _maps(data: Plotted, spec: TableSpec, parts: Mapping[Key, Summary]) -> "Figure":
    most_rows = max(len(part.rows) for part in parts.values())
    most_columns = max(len(part.columns) for part in parts.values())
    columns = 2 if most_columns <= 6 else 1
    height = 0.6 + 0.19 * most_rows
    # Shared axes have the row labels of one panel, and the panels may differ in their rows.
    rows = [part.rows for part in parts.values()]
    has_same_rows = all(of_part == rows[0] for of_part in rows)
    figure, grid_of_axes = _figure(
        spec, parts, columns=columns, height=height, sharey=has_same_rows
    )
    is_grid = table_summaries.is_grid(data.with_grids, spec)
    texts = []
    for index, (axes, part) in enumerate(zip(grid_of_axes, parts.values(), strict=True)):
        if is_grid:
            # `_words` would repeat the name of the axis at each number.
            heads = [
                declared_tables.heading(data.with_grids, spec.columns, c) for c in part.columns
            ]
            names = [_text(row) for row in part.rows]
        else:
            heads = [_words(spec.columns, column) for column in part.columns]
            names = [_words(spec.rows, row) for row in part.rows]
        cells = [[_shown(spec, part, row, c) for c in part.columns] for row in part.rows]
        numbers = [[_center(spec, part, row, c) for c in part.columns] for row in part.rows]
        heat_map(
            pd.DataFrame(numbers, names, heads), texts=pd.DataFrame(cells, names, heads), axes=axes
        )
        texts += [*itertools.chain(*cells), *heads]
        if is_grid:
            axes.set_xlabel(_axis_names(spec.columns))
            if index % columns == 0 or not has_same_rows:
                axes.set_ylabel(_axis_names(spec.rows))
        else:
            axes.set_xticks(
                axes.get_xticks(), heads, rotation=30, ha="right", rotation_mode="anchor"
            )
    caption = [_CENTERS[spec.metric.show].capitalize()]
    all_texts = "".join(texts)
    caption += [words for sign, words in _SIGNS.items() if sign in all_texts]
    drawing.titles(figure, declared_tables.name_of(spec), f"{'; '.join(caption)}.")
    return figure


def _shown(spec: TableSpec, part: Summary, row: Key, column: Key) -> str:
    """Return the number of a field with its signs, without its interval."""
    value = _center(spec, part, row, column)
    if value is None:
        return DASH
    style = metrics.BY_NAME[spec.metric.name].style
    return number(value, style) + part.at(row, column).signs


def _figure(
    spec: TableSpec, kinds: Iterable[Key], *, columns: int, height: float, sharey: bool = True
) -> "tuple[Figure, list[Axes]]":
    """Return a figure with the axes of each table, in which the kinds are their titles."""
    titles = [_words(spec.each, kind) for kind in kinds]
    figure, grid = drawing.grid(len(titles), columns=columns, height=height, sharey=sharey)
    for axes, title in zip(grid, titles, strict=True):
        axes.set_title(title)
    return figure, grid


def _axis_names(dimensions: Sequence[str]) -> str:
    return ", ".join(map(styles.axis_name, dimensions))


def _text(key: Key) -> str:
    return SEPARATOR.join(str(value) for value in key if str(value))


def _words(dimensions: Sequence[str], key: Key) -> str:
    """Return the labels of a row, a column or a single table in words."""
    parts = []
    for dimension, label in zip(dimensions, key, strict=True):
        if str(label):
            parts.append(styles.words(str(label), dimension))
    return SEPARATOR.join(parts)
