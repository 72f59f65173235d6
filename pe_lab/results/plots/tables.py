"""Pictures of the tables of an analysis spec.

A table is drawn as lines if its columns are numbers. It is drawn as a map of rows and columns if
they are names, and too many to compare in the table itself, or if an axis of evaluation overrides
is among them.
"""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pe_lab.metrics.base import Limit, Value
from pe_lab.results import cells, metrics, notes, pivot
from pe_lab.results.formats import DASH
from pe_lab.results.grids import (
    Key,
    TableGrid,
    as_numbers,
    grids,
    is_grid,
    metric_at,
    one_a_task,
)
from pe_lab.results.plots import drawing, styles, ticks
from pe_lab.results.plots.drawing import Line
from pe_lab.results.plots.study_data import MOST_LINES, REVEALS, StudyData
from pe_lab.results.plots.styles import Style
from pe_lab.runs.analysis_spec import SEPARATOR, TableSpec
from pe_lab.runs.first_steps import FirstStep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_FEWEST_OF_MAP = 4  # rows and columns; a smaller table is read as fast as its picture
_MOST_MAPS = 24  # of one figure
_FEWEST_OF_LINE = 3  # columns
_COLOR_MAP = "cividis"  # from dark to light for every reader, and in print
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
    "*": "* no seed solved the training lengths",
}


def table(data: StudyData, spec: TableSpec) -> "Figure | None":
    """Return the picture of a table.

    None for a table of several metrics or of counts, without numbers, or too small for a picture.
    """
    is_count = metrics.BY_NAME[spec.metric.name].style == "count"
    if spec.measures or is_count:
        return None
    parts = []
    for grid in grids(data.results, spec):
        if any(grid.seeds(row, column) for row, column in grid.points_of):
            parts.append(grid)
    if not parts:
        return None
    can_be_map = len(spec.columns) == 1 and _is_share(spec)  # a map has colors from 0 to 1
    fewest_columns = min(len(grid.columns) for grid in parts)
    num_rows = [len(grid.rows) for grid in parts]
    if is_grid(data.results, spec):
        # Rows and columns are the two axes of the grid.
        has_rows = max(num_rows) >= 2 and len(spec.rows) == 1
        is_clear = can_be_map and has_rows and len(parts) <= _MOST_MAPS
        return _map(data, spec, parts) if is_clear else None
    if all(_numbers(grid) for grid in parts):
        return _lines(data, spec, parts)
    if can_be_map and min(*num_rows, fewest_columns) >= _FEWEST_OF_MAP:
        return _map(data, spec, parts)
    return None


def _numbers(grid: TableGrid) -> list[float] | None:
    """Return the columns if they are enough numbers for a line."""
    # A column of two dimensions is no number.
    labels = [column[0] for column in grid.columns if len(column) == 1]
    if len(labels) < len(grid.columns) or len(labels) < _FEWEST_OF_LINE:
        return None
    return as_numbers(labels)


def _is_share(spec: TableSpec) -> bool:
    name = spec.metric.name
    if metrics.BY_NAME[name].style == "share":
        return True
    return name in ("in_distribution", "trained_length", "retention", "auc", "log_auc")


def _lines(data: StudyData, spec: TableSpec, parts: Sequence[TableGrid]) -> "Figure":
    figure, axes = _figure(spec, parts, columns=2, height=2.2)
    looks = _looks(data, parts)
    lines = []
    for axis, grid in zip(axes, parts, strict=True):
        numbers = _numbers(grid) or []
        for row in grid.rows:
            line = _line(spec, grid, row, numbers, looks.get(_text(row)))
            drawing.draw_line(axis, line)
            lines.append(line)
        least, most = min(numbers), max(numbers)
        if least > 0 and most > 20 * least:
            axis.set_xscale("log")
        ticks.at_numbers(axis, sorted(numbers))
        axis.set_xlabel(_axis_names(spec.columns))
    # The best of all settings may be above every seed of the chosen one.
    heights = [line.values["value"] for line in lines]
    heights += [line.center for line in lines if line.center is not None]
    all_heights = pd.concat(heights)
    lowest = float(all_heights.min())
    highest = float(all_heights.max())
    for axis in axes:
        if _is_share(spec):
            ticks.shares(axis, lowest, highest)
        elif lowest > 0:
            axis.set_yscale("log")
    metric = metrics.BY_NAME[spec.metric.name]
    axes[0].set_ylabel(spec.metric.label or metric.label)
    caption = f"Lines: {_CENTERS[spec.metric.show]}; dots: single seeds"
    if spec.metric.name in ("L90", "L99"):
        caption += "; 0: below the shortest length; the longest length: at least that"
    if metric.style == "first_step":
        caption += "; a run that never got there is at its last measured step"
    if any(line.hollow for line in lines):
        caption += "; hollow marks: no seed solved the training lengths"
    drawing.legend(figure, lines)
    drawing.titles(figure, pivot.name_of(data.results, spec), f"{caption}.")
    return figure


def _line(
    spec: TableSpec, grid: TableGrid, row: Key, numbers: Sequence[float], style: Style | None
) -> Line:
    values = []
    centers = {}
    hollow = []
    for x, column in zip(numbers, grid.columns, strict=True):
        variants = [point.variant for point in grid.at(row, column)]
        if all(variant.is_unsolved for variant in variants):
            hollow.append(x)
        heights = map(_height, grid.seeds(row, column))
        values += [(x, seed, height) for seed, height in enumerate(heights)]
        center = _center(spec, grid, row, column)
        if center is not None:
            centers[x] = center
    return Line(
        name=_text(row),
        label=_words(spec.rows, row),
        values=pd.DataFrame(values, columns=["x", "run_id", "value"]),
        style=style,
        center=pd.Series(centers, dtype=float).sort_index(),
        hollow=hollow,
    )


def _center(spec: TableSpec, grid: TableGrid, row: Key, column: Key) -> int | float | None:
    """Return the number that the table shows. For a table of every seed, it is their median."""
    points = grid.at(row, column)
    center: Value | None
    if spec.metric.show == "best" and points:
        variants = one_a_task(spec, points)
        center = cells.best(variants, metric_at(spec, points[0]))
    else:
        center = cells.middle(grid.seeds(row, column), spec.metric.show)
    if center is None:
        return None
    return _height(center)


def _height(value: Value) -> int | float:
    """Return a number, the length of a limit (0 if it is below all lengths), or a step."""
    if isinstance(value, Limit):
        return value.length if value.side >= 0 else 0
    if isinstance(value, FirstStep):
        return value.step
    return value


def _looks(data: StudyData, parts: Sequence[TableGrid]) -> dict[str, Style]:
    """Return the styles of the rows. Rows that are variants have the styles of the variants."""
    rows = [[_text(row) for row in grid.rows] for grid in parts]
    if set(itertools.chain(*rows)) <= data.looks.keys():
        return data.looks
    return styles.assign([of_part[:MOST_LINES] for of_part in rows])


def _map(data: StudyData, spec: TableSpec, parts: Sequence[TableGrid]) -> "Figure":
    most_rows = max(len(grid.rows) for grid in parts)
    most_columns = max(len(grid.columns) for grid in parts)
    columns = 2 if most_columns <= 6 else 1
    height = 0.6 + 0.19 * most_rows
    # Shared axes have the row labels of one panel, and the panels may differ in their rows.
    has_same_rows = all(grid.rows == parts[0].rows for grid in parts)
    figure, axes = _figure(spec, parts, columns=columns, height=height, sharey=has_same_rows)
    texts = []
    for number, (axis, grid) in enumerate(zip(axes, parts, strict=True)):
        texts += _draw_map(axis, data, spec, grid)
        if is_grid(data.results, spec):
            # `_words` would repeat the name of the axis at each number.
            heads = [pivot.heading(data.results, spec.columns, column) for column in grid.columns]
            axis.set_xticks(range(len(heads)), heads)
            axis.set_xlabel(_axis_names(spec.columns))
            rows = [_text(row) for row in grid.rows]
            if number % columns == 0 or not has_same_rows:
                axis.set_ylabel(_axis_names(spec.rows))
        else:
            heads = [_words(spec.columns, column) for column in grid.columns]
            places = range(len(heads))
            axis.set_xticks(places, heads, rotation=30, ha="right", rotation_mode="anchor")
            rows = [_words(spec.rows, row) for row in grid.rows]
        axis.set_yticks(range(len(rows)), rows)
        texts += heads
    caption = [_CENTERS[spec.metric.show].capitalize()]
    all_texts = "".join(texts)
    caption += [words for sign, words in _SIGNS.items() if sign in all_texts]
    drawing.titles(figure, pivot.name_of(data.results, spec), f"{'; '.join(caption)}.")
    return figure


def _draw_map(axis: "Axes", data: StudyData, spec: TableSpec, grid: TableGrid) -> list[str]:
    """Draw the numbers of a table on colors from 0 to 1, and return their texts."""
    centers = []
    for row in grid.rows:
        centers.append([_center(spec, grid, row, column) for column in grid.columns])
    shades = np.array(centers, float)  # NaN for None, which has no color
    axis.imshow(shades, cmap=_COLOR_MAP, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axis.grid(visible=False)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    texts = []
    for y, row in enumerate(grid.rows):
        for x, column in enumerate(grid.columns):
            value = centers[y][x]
            text = DASH
            color = "black"
            if value is not None:
                signs = _signs(data, spec, grid, row, column)
                text = f"{cells.number(value, spec.metric.name)}{signs}"
                color = "black" if value > 0.5 else "white"  # on a light or a dark shade
            axis.text(x, y, text, ha="center", va="center", color=color, fontsize=7)
            texts.append(text)
    return texts


def _signs(data: StudyData, spec: TableSpec, grid: TableGrid, row: Key, column: Key) -> str:
    points = grid.at(row, column)
    if not points:
        return ""
    variants = one_a_task(spec, points)
    metric = metric_at(spec, points[0])
    return pivot.signs(data.results, spec, variants, metric)


def _figure(
    spec: TableSpec,
    parts: Sequence[TableGrid],
    *,
    columns: int,
    height: float,
    sharey: bool = True,
) -> "tuple[Figure, list[Axes]]":
    figure, axes = drawing.grid(len(parts), columns=columns, height=height, sharey=sharey)
    for axis, grid in zip(axes, parts, strict=True):
        axis.set_title(_words(spec.each, grid.kind))
    return figure, axes


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
