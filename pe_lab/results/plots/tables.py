"""Pictures of the tables of an analysis spec.

A table is drawn as lines if its columns are numbers. It is drawn as a map of rows and columns if
they are names, and too many to compare in the table itself, or if an axis of evaluation overrides
is among them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.metrics.base import Limit, Value
from pe_lab.results import cells, metrics, pivot
from pe_lab.results.grids import (
    Key,
    TableGrid,
    as_numbers,
    grids,
    is_grid,
    metric_at,
    one_a_task,
)
from pe_lab.results.plots import drawing, styles
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
    cells.REVEALS: REVEALS,
    cells.SEEN: "‡ training showed such positions",
    cells.REPEATED: "§ training can draw some of the inputs",
    "→": "→ beyond training",
    "*": "* no seed solved the training lengths",
}


def table(data: StudyData, spec: TableSpec) -> "Figure | None":
    """Return the picture of a table.

    None for a table of several metrics or of counts, without numbers, or too small for a picture.
    """
    if spec.measures or metrics.BY_NAME[spec.metric.name].style == "count":
        return None
    parts = [grid for grid in grids(data.results, spec) if _has_numbers(grid)]
    if not parts:
        return None
    if is_grid(data.results, spec):
        is_small = max(len(grid.rows) for grid in parts) < 2 or len(spec.rows) > 1
        if is_small or len(spec.columns) > 1 or len(parts) > _MOST_MAPS or not _is_share(spec):
            return None
        return _map(data, spec, parts)
    if all(_numbers(grid) for grid in parts):
        return _lines(data, spec, parts)
    is_large = all(len(grid.rows) >= _FEWEST_OF_MAP for grid in parts)
    is_wide = all(len(grid.columns) >= _FEWEST_OF_MAP for grid in parts)
    if is_large and is_wide and len(spec.columns) == 1 and _is_share(spec):
        return _map(data, spec, parts)
    return None


def _has_numbers(grid: TableGrid) -> bool:
    return any(grid.seeds(row, column) for row, column in grid.found)


def _numbers(grid: TableGrid) -> list[float] | None:
    """Return the columns if they are enough numbers for a line."""
    labels = [column[0] for column in grid.columns if len(column) == 1]
    if len(labels) < max(_FEWEST_OF_LINE, len(grid.columns)):
        return None
    return as_numbers(labels)


def _is_share(spec: TableSpec) -> bool:
    name = spec.metric.name
    shares = ("in_distribution", "trained_length", "retention", "auc", "log_auc")
    return metrics.BY_NAME[name].style == "share" or name in shares


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
        if min(numbers) > 0 and max(numbers) > 20 * min(numbers):
            axis.set_xscale("log")
        drawing.number_ticks(axis, sorted(numbers))
        axis.set_xlabel(_axis_names(spec.columns))
    centers = [value for line in lines if line.center is not None for value in line.center]
    values = [*centers, *(value for line in lines for value in line.values["value"])]
    for axis in axes:
        if _is_share(spec):
            drawing.share_axis(axis, min(values), max(values))
        elif min(values) > 0:
            axis.set_yscale("log")
    axes[0].set_ylabel(_metric_words(spec))
    caption = f"Lines: {_CENTERS[spec.metric.show]}; dots: single seeds"
    if spec.metric.name in ("L90", "L99"):
        caption += "; 0: below the shortest length; the longest length: at least that"
    if metrics.BY_NAME[spec.metric.name].style == "first_step":
        caption += "; a run that never got there is at its last measured step"
    drawing.legend(figure, lines)
    drawing.titles(figure, pivot.name_of(data.results, spec), f"{caption}.")
    return figure


def _line(
    spec: TableSpec, grid: TableGrid, row: Key, numbers: Sequence[float], style: Style | None
) -> Line:
    values, centers = [], {}
    for x, column in zip(numbers, grid.columns, strict=True):
        for seed, value in enumerate(grid.seeds(row, column)):
            values.append((x, seed, _height(value)))
        center = _center(spec, grid, row, column)
        if center is not None:
            centers[x] = center
    return Line(
        name=_text(row),
        label=_words(spec.rows, row),
        values=pd.DataFrame(values, columns=["x", "run_id", "value"]),
        style=style,
        center=pd.Series(centers, dtype=float).sort_index(),
    )


def _center(spec: TableSpec, grid: TableGrid, row: Key, column: Key) -> int | float | None:
    """Return the number that the table shows. For a table of every seed, it is their median."""
    points = grid.at(row, column)
    center: Value | None
    if spec.metric.show == "best" and points:
        center = cells.best(one_a_task(spec, points), metric_at(spec, points[0]))
    else:
        center = cells.middle(grid.seeds(row, column), spec.metric.show)
    return None if center is None else _height(center)


def _height(value: Value) -> int | float:
    """Return a number, the length of a limit (0 if it is below all lengths), or a step."""
    if isinstance(value, Limit):
        return value.length if value.side >= 0 else 0
    return value.step if isinstance(value, FirstStep) else value


def _looks(data: StudyData, parts: Sequence[TableGrid]) -> dict[str, Style]:
    """Return the styles of the rows: those of the variants if rows are variants."""
    rows = [[_text(row) for row in grid.rows] for grid in parts]
    names = {name for part in rows for name in part}
    if names <= set(data.looks):
        return data.looks
    return styles.assign([part[:MOST_LINES] for part in rows])


def _map(data: StudyData, spec: TableSpec, parts: Sequence[TableGrid]) -> "Figure":
    tallest = max(len(grid.rows) for grid in parts)
    columns = 2 if max(len(grid.columns) for grid in parts) <= 6 else 1
    figure, axes = _figure(spec, parts, columns=columns, height=0.6 + 0.19 * tallest)
    used = ""
    for number, (axis, grid) in enumerate(zip(axes, parts, strict=True)):
        texts = _draw_map(axis, data, spec, grid)
        used += "".join(texts)
        if is_grid(data.results, spec):
            heads = [pivot.heading(data.results, spec.columns, column) for column in grid.columns]
            axis.set_xticks(range(len(heads)), heads)
            axis.set_xlabel(_axis_names(spec.columns))
            rows = [_text(row) for row in grid.rows]
            if number % columns == 0:  # the panels of a row share this axis
                axis.set_ylabel(_axis_names(spec.rows))
        else:
            heads = [_words(spec.columns, column) for column in grid.columns]
            places = range(len(heads))
            axis.set_xticks(places, heads, rotation=30, ha="right", rotation_mode="anchor")
            rows = [_words(spec.rows, row) for row in grid.rows]
        axis.set_yticks(range(len(rows)), rows)
        used += "".join(heads)
    signs = [words for sign, words in _SIGNS.items() if sign in used]
    if "–" in used:
        signs.insert(0, "– no number")
    caption = "; ".join([f"{_CENTERS[spec.metric.show].capitalize()}", *signs])
    drawing.titles(figure, pivot.name_of(data.results, spec), f"{caption}.")
    return figure


def _draw_map(axis: "Axes", data: StudyData, spec: TableSpec, grid: TableGrid) -> list[str]:
    """Draw the numbers of a table on colors from 0 to 1, and return their texts."""
    centers = [[_center(spec, grid, row, column) for column in grid.columns] for row in grid.rows]
    shades = [[float("nan") if value is None else value for value in row] for row in centers]
    axis.imshow(shades, cmap=_COLOR_MAP, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axis.grid(visible=False)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    texts = []
    for y, (row, values) in enumerate(zip(grid.rows, centers, strict=True)):
        for x, (column, value) in enumerate(zip(grid.columns, values, strict=True)):
            text = "–" if value is None else f"{value:.2f}{_signs(data, spec, grid, row, column)}"
            color = "black" if value is None or value > 0.5 else "white"
            axis.text(x, y, text, ha="center", va="center", color=color, fontsize=7)
            texts.append(text)
    return texts


def _signs(data: StudyData, spec: TableSpec, grid: TableGrid, row: Key, column: Key) -> str:
    points = grid.at(row, column)
    if not points:
        return ""
    variants = one_a_task(spec, points)
    return pivot.signs(data.results, spec, variants, metric_at(spec, points[0]))


def _figure(
    spec: TableSpec, parts: Sequence[TableGrid], *, columns: int, height: float
) -> "tuple[Figure, list[Axes]]":
    figure, axes = drawing.grid(len(parts), columns=columns, height=height)
    for axis, grid in zip(axes, parts, strict=True):
        axis.set_title(_words(spec.each, grid.kind))
    return figure, axes


def _axis_names(dimensions: Sequence[str]) -> str:
    return ", ".join(map(styles.axis_name, dimensions))


def _text(key: Key) -> str:
    return SEPARATOR.join(str(value) for value in key if str(value))


def _words(dimensions: Sequence[str], key: Key) -> str:
    """Return the labels of a row, a column or a single table in words."""
    pairs = zip(dimensions, key, strict=True)
    return SEPARATOR.join(styles.words(str(label), axis) for axis, label in pairs if str(label))


def _metric_words(spec: TableSpec) -> str:
    return spec.metric.label or metrics.BY_NAME[spec.metric.name].label
