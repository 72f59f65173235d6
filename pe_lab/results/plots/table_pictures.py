"""Pictures of the tables of an analysis spec.

A table is drawn as lines if its columns are numbers. It is drawn as a map of rows and columns if
they are names, and too many to compare in the table itself, or if an axis of evaluation overrides
is among them.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results import declared_tables, metrics, notes, summary, table_summaries
from pe_lab.results.formats import DASH, Cell, number
from pe_lab.results.plots import drawing, plotted, styles
from pe_lab.results.plots.heat_map import heat_map
from pe_lab.results.plots.lines import lines
from pe_lab.results.plots.plotted import MOST_LINES, Plotted, groups
from pe_lab.results.plots.styles import Style
from pe_lab.results.summary import Key, Summary, as_numbers
from pe_lab.runs.studies.analysis_spec import SEPARATOR, TableSpec

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
    **plotted.SIGNS,
    notes.REPEATED: "§ training can draw some of the inputs",
    "→": "→ beyond training",
    notes.UNSOLVED: "* no seed solved the training lengths",
}


def table(data: Plotted, spec: TableSpec) -> "Figure | None":
    """Return the picture of a table.

    None for a table of several metrics or of counts, without numbers, or too small for a picture.
    """
    style = metrics.BY_NAME[spec.metric.name].style
    if spec.measures or style == "count":
        return None
    summaries = table_summaries.summaries(data.with_grids, spec)
    parts = {kind: part for kind, part in summaries.items() if part.values["value"].notna().any()}
    if not parts:
        return None
    can_be_map = len(spec.columns) == 1 and style == "share"  # a map has colors from 0 to 1
    num_rows = [len(part.rows) for part in parts.values()]
    if table_summaries.is_grid(data.with_grids, spec):
        # Rows and columns are the two axes of the grid.
        has_rows = max(num_rows) >= 2 and len(spec.rows) == 1
        is_clear = can_be_map and has_rows and len(parts) <= _MOST_MAPS
        return _maps(data, spec, parts) if is_clear else None
    if all(_can_be_lines(part) for part in parts.values()):
        return _lines(data, spec, parts)
    fewest_columns = min(len(part.columns) for part in parts.values())
    if can_be_map and min(*num_rows, fewest_columns) >= _FEWEST_OF_MAP:
        return _maps(data, spec, parts)
    return None


def _can_be_lines(part: Summary) -> bool:
    """Return whether the columns are enough numbers for a line."""
    # A column of two dimensions is no number.
    has_one_dimension = all(len(column) == 1 for column in part.columns)
    is_long = len(part.columns) >= _FEWEST_OF_LINE
    return has_one_dimension and is_long and as_numbers([c for (c,) in part.columns]) is not None


def _lines(data: Plotted, spec: TableSpec, parts: Mapping[Key, Summary]) -> "Figure":
    panels = [(kind, panel) for kind, part in parts.items() for panel in _panels(part)]
    figure, grid_of_axes = _figure(spec, [kind for kind, _ in panels], columns=2, height=2.2)
    metric = metrics.BY_NAME[spec.metric.name]
    looks = _looks(data, parts)
    heights = []
    has_hollow = False
    for axes, (_, part) in zip(grid_of_axes, panels, strict=True):
        names = {row: _text(row) for row in part.rows}
        places = [float(column) for (column,) in part.columns]
        centers = pd.DataFrame(_centers(spec, part), places, list(names.values())).sort_index()
        values = _values(spec, part, places)
        values["is_unsolved"] = values["variant"].map(data.with_grids.variants["is_unsolved"])
        is_hollow = values.groupby(["name", "x"])["is_unsolved"].all()
        hollow = set(is_hollow.index[is_hollow])
        points = values.dropna(subset="value")
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
        has_hollow |= bool(hollow)
        heights += [points["value"], centers.stack()]
        drawing.ticks_at(axes, places)
        axes.set_xlabel(_axis_names(spec.columns))
    # The best of all settings may be above every seed of the chosen one.
    all_heights = pd.concat(heights)
    for axes in grid_of_axes:
        if metric.style == "share":
            drawing.shares(axes, float(all_heights.min()), float(all_heights.max()))
        else:
            drawing.log_if_wide(axes, all_heights)
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


def _panels(part: Summary) -> list[Summary]:
    """Return the parts of a table whose rows fit as lines into one axes."""
    rows = pd.DataFrame([map(str, row) for row in part.rows])
    return [
        dataclasses.replace(part, rows=[part.rows[index] for index in indices])
        for _, indices in groups(rows, MOST_LINES)
    ]


def _values(spec: TableSpec, part: Summary, places: Sequence[float]) -> pd.DataFrame:
    """Return the values of single runs, with the name of their line and their place on it."""
    rows = part.values[list(spec.rows)].itertuples(index=False, name=None)
    values = part.values.assign(
        name=[_text(row) for row in rows],
        x=part.values[spec.columns[0]].astype(float),
        value=part.values["value"].where(part.values["bound"] != "<", 0),  # below all lengths
    )
    return values[values["x"].isin(places)].sort_values("x", kind="stable")


def _centers(spec: TableSpec, part: Summary) -> list[list[int | float]]:
    """Return the numbers that the table shows, by column and row. Of every seed, the medians."""
    table = part
    if spec.metric.show == "seeds":
        style = metrics.BY_NAME[spec.metric.name].style
        table = summary.summarize(part.values, spec.rows, spec.columns, style=style)
    return [[_height(table.at(row, column)) for row in part.rows] for column in part.columns]


def _height(cell: Cell) -> int | float:
    """Return the number of a cell, 0 for a limit below all lengths, or NaN."""
    if cell.text.startswith("<"):
        return 0.0
    return cell.value if isinstance(cell.value, int | float) else math.nan


def _looks(data: Plotted, parts: Mapping[Key, Summary]) -> dict[str, Style]:
    """Return the styles of the rows. Rows that are variants have the styles of the variants."""
    rows = [[_text(row) for row in part.rows] for part in parts.values()]
    if set(itertools.chain(*rows)) <= data.looks.keys():
        return data.looks
    return styles.assign(rows)


def _maps(data: Plotted, spec: TableSpec, parts: Mapping[Key, Summary]) -> "Figure":
    most_rows = max(len(part.rows) for part in parts.values())
    most_columns = max(len(part.columns) for part in parts.values())
    columns = 2 if most_columns <= 6 else 1
    height = 0.6 + 0.19 * most_rows
    # Shared axes have the row labels of one panel, and the panels may differ in their rows.
    has_same_rows = len({tuple(part.rows) for part in parts.values()}) == 1
    figure, grid_of_axes = _figure(
        spec, parts, columns=columns, height=height, sharey=has_same_rows
    )
    is_grid = table_summaries.is_grid(data.with_grids, spec)
    letters = ""
    if is_grid and has_same_rows:
        figure.supylabel(_axis_names(spec.rows))  # once: panels may be lower than the label
    for axes, part in zip(grid_of_axes, parts.values(), strict=True):
        if is_grid:
            # `_words` would repeat the name of the axis at each number.
            study = data.with_grids
            heads = [declared_tables.heading(study, spec.columns, c) for c in part.columns]
            names = [_text(row) for row in part.rows]
        else:
            heads = [_words(spec.columns, column) for column in part.columns]
            names = [_words(spec.rows, row) for row in part.rows]
        numbers = pd.DataFrame(_centers(spec, part), heads, names, dtype=float).T
        signs = [[part.at(row, column).signs for row in part.rows] for column in part.columns]
        texts = numbers.map(number) + pd.DataFrame(signs, heads, names).T
        texts = texts.where(numbers.notna(), DASH)
        heat_map(numbers, texts=texts, axes=axes)
        letters += "".join([*itertools.chain(*texts.to_numpy()), *heads])
        if is_grid:
            axes.set_xlabel(_axis_names(spec.columns))
            if not has_same_rows:
                axes.set_ylabel(_axis_names(spec.rows))
        else:
            axes.set_xticks(
                axes.get_xticks(), heads, rotation=30, ha="right", rotation_mode="anchor"
            )
    caption = [_CENTERS[spec.metric.show].capitalize()]
    caption += [words for sign, words in _SIGNS.items() if sign in letters]
    drawing.titles(figure, declared_tables.name_of(spec), f"{'; '.join(caption)}.")
    return figure


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
