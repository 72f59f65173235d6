"""The tables that a study declares, drawn: lines where columns are numbers, else a map of rows x columns."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from pe_lab import declaration
from pe_lab.analysis import cells, pivot, statistics
from pe_lab.analysis.grids import Grid, as_numbers, grids, one_a_task, placed
from pe_lab.analysis.plots import drawing, lengths, styles
from pe_lab.analysis.results import Results
from pe_lab.declaration import BY_LENGTH

_ENCODINGS = ("model.encodings", "variant")
_SHADES = ("#1a1a1a", "#5a5a5a", "#959595")  # of rows that are no encodings
_SIGNS = {cells.TOLD: "†: told the answer's length", cells.SEEN: "‡: training showed such positions", "*": "*: no seed has learnt the task"}
_SHARES = {*(name for name in BY_LENGTH if "match" in name or "accuracy" in name), "in_distribution", "trained_length", "retention", "auc"}


def table(results: Results, asked: declaration.Table) -> Any:
    """One table, a panel for each value of what is left; None of several measures, of counts, and where there are no numbers."""
    if asked.measures or asked.metric.name in declaration.COUNTS:
        return None
    found = [grid for grid in grids(results, asked) if any(grid.seeds(*place) for place in grid.found)]
    if not found:
        return None
    if all(_numbers(grid) is not None for grid in found):
        return _lines(results, found)
    return _maps(results, found) if asked.metric.name in _SHARES else None


def _numbers(grid: Grid) -> list[float] | None:
    """Its columns, where they are numbers on one dimension and enough for a line."""
    labels = [column[0] for column in grid.columns if len(column) == 1]
    return as_numbers(labels) if 3 <= len(labels) == len(grid.columns) else None


def _lines(results: Results, found: Sequence[Grid]) -> Any:
    """A panel a table: a line a row, the median over seeds; seeds are dots."""
    figure, axes = _panels(found, height=2.2, sharey=True)
    asked = found[0].asked
    for axis, grid in zip(axes, found, strict=True):
        places = _numbers(grid) or []
        looks = [_style(grid, row) for row in grid.rows]
        for row, style, dashes in zip(grid.rows, looks, styles.dashes(looks), strict=True):
            seeds = [(x, grid.seeds(row, column)) for x, column in zip(places, grid.columns, strict=True)]
            dots = [(x, value) for x, values in seeds for value in values]
            axis.plot(*drawing.known(dots), linestyle="", marker=style.marker, markersize=2, alpha=0.5, color=style.color)
            middle = [(x, statistics.median(values)) for x, values in seeds if values]
            dash = {"dashes": dashes} if dashes else {}
            axis.plot(*drawing.known(middle), color=style.color, marker=style.marker, label=_words(row), **dash)
        _number_axis(axis, places)
        axis.set_xlabel(pivot.title(asked.columns))
    if asked.metric.name in _SHARES:
        axes[0].set_ylim(-0.04, 1.04)
    elif min(value for grid in found for place in grid.found for value in grid.seeds(*place)) > 0:
        axes[0].set_yscale("log")
    figure.supylabel(textwrap.fill(pivot.column(asked.metric, results), 26), fontsize=8)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, title=pivot.title(asked.rows), title_fontsize=8
    )
    drawing.caption(figure, results, pivot.name_of(results, asked), "lines are medians of seeds, dots seeds")
    return figure


def _maps(results: Results, found: Sequence[Grid]) -> Any:
    """A map a table: the median over seeds where row and column cross, with the table's signs."""
    asked, tall = found[0].asked, max(len(grid.rows) for grid in found)
    figure, axes = _panels(found, height=0.75 + 0.19 * tall, sharey=len({tuple(grid.rows) for grid in found}) == 1)
    said: set[str] = set()
    for axis, grid in zip(axes, found, strict=True):
        places = [[(row, column) for column in grid.columns] for row in grid.rows]
        values = [[statistics.median(seeds) if (seeds := grid.seeds(*place)) else None for place in line] for line in places]
        signs = [[_signs(results, grid, place) for place in line] for line in places]
        image = lengths.draw_map(axis, values, signs)
        heads = [pivot.heading(results, asked.columns, column) for column in grid.columns]
        axis.set_xticks(range(len(heads)), heads, rotation=30, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(grid.rows)), [_words(row) for row in grid.rows])
        said |= {sign for line in signs for signs_of_one in line for sign in signs_of_one}
    shrink = min(1.0, 6 / figure.get_size_inches()[1])  # of a tall map
    label = pivot.WORDS.get(asked.metric.name, asked.metric.name)
    figure.colorbar(image, ax=axes, label=label, pad=0.02, aspect=30 * shrink, shrink=shrink, anchor=(0, 1))
    more = [_SIGNS[sign] for sign in _SIGNS if sign in said]
    drawing.caption(figure, results, pivot.name_of(results, asked), "medians of seeds", "–: no number", *more, told=False)
    return figure


def _signs(results: Results, grid: Grid, place: tuple[Any, Any]) -> str:
    points = grid.at(*place)
    return pivot.signs(results, grid.asked, one_a_task(grid.asked, points), placed(grid.asked, points[0])) if points else ""


def _panels(found: Sequence[Grid], height: float, sharey: bool) -> tuple[Any, list[Any]]:
    columns = min(len(found), 2)
    lines = math.ceil(len(found) / columns)
    size = (drawing.WIDTH * (0.62 if columns == 1 else 1), height * lines + 0.6)
    figure, axes = drawing.pyplot().subplots(lines, columns, figsize=size, squeeze=False, layout="constrained", sharey=sharey)
    for axis in axes.flat[len(found) :]:
        axis.axis("off")
    for axis, grid in zip(axes.flat, found, strict=False):
        axis.set_title(_words(grid.kind), fontsize=7)
    return figure, list(axes.flat[: len(found)])


def _style(grid: Grid, row: tuple[Any, ...]) -> styles.Style:
    """An encoding's own, where rows are encodings; else a grey and a marker by its place."""
    if any(dimension in _ENCODINGS for dimension in grid.asked.rows):
        return next(drawing.style(point.variant) for (r, _), points in grid.found.items() if r == row for point in points)
    place = grid.rows.index(row)
    return styles.Style(_SHADES[place % len(_SHADES)], styles.MARKERS[place % len(styles.MARKERS)])


def _words(key: tuple[Any, ...]) -> str:
    return " · ".join(str(value) for value in key if str(value))


def _number_axis(axis: Any, places: Sequence[float]) -> None:
    """Ticks where something was measured; a log scale where numbers span more than a factor of 20."""
    if min(places) > 0 and max(places) > 20 * min(places):
        axis.set_xscale("log")
    axis.set_xticks(places, [f"{x:g}" for x in places])
    axis.minorticks_off()
