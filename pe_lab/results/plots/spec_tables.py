"""The tables of an analysis spec, drawn: lines where columns are numbers, else a map of rows x
columns.
"""

import dataclasses
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from pe_lab.results import cells, metrics, pivot
from pe_lab.results.grids import Grid, as_numbers, grids, metric_at, one_a_task
from pe_lab.results.metrics import Limit
from pe_lab.results.plots import drawing, lengths, styles
from pe_lab.results.results import Results
from pe_lab.runs import analysis_spec

_ENCODINGS = ("model.encodings", "variant")
_SHADES = ("#1a1a1a", "#5a5a5a", "#959595")  # of rows that are no encodings
_SIGNS = {
    cells.REVEALS: "†: reveals the target length",
    cells.SEEN: "‡: training showed such positions",
    "*": "*: no seed solved the training lengths",
}
_SHARES = {entry.name for entry in metrics.METRICS if entry.style == "share"}
_SHARES |= {"in_distribution", "trained_length", "retention", "auc", "log_auc"}
_CENTRES = {
    "median": "medians of seeds",
    "mean": "means of seeds",
    "iqm": "interquartile means of seeds",
    "seeds": "medians of seeds",
    "best": "the best setting and seed, by the test",
}


def table(results: Results, asked: analysis_spec.TableSpec) -> Any:
    """One table, a panel for each value of what is left; None of several measures, of counts, and
    where there are no numbers.
    """
    if asked.measures or metrics.BY_NAME[asked.metric.name].style == "count":
        return None
    found = [
        grid for grid in grids(results, asked) if any(grid.seeds(*place) for place in grid.found)
    ]
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
    """A panel a table: a line a row, the centre of seeds that is asked for; seeds are dots."""
    figure, axes = _panels(found, height=2.2, sharey=True)
    asked, looks = found[0].spec, _looks(found)
    for axis, grid in zip(axes, found, strict=True):
        places = _numbers(grid) or []
        for row in grid.rows:
            style, dash = looks[row]
            cells_of_row = [
                (x, (row, column)) for x, column in zip(places, grid.columns, strict=True)
            ]
            dots = [
                (x, _height(value)) for x, place in cells_of_row for value in grid.seeds(*place)
            ]
            axis.plot(
                *drawing.known(dots),
                linestyle="",
                marker=style.marker,
                markersize=2,
                alpha=0.5,
                color=style.color,
            )
            line = [(x, _height(_centre(grid, place))) for x, place in cells_of_row]
            axis.plot(
                *drawing.known(line),
                color=style.color,
                marker=style.marker,
                label=_words(row),
                **dash,
            )
        _number_axis(axis, places)
        axis.set_xlabel(pivot.title(asked.columns))
    drawn = [y for axis in axes for line in axis.lines for y in line.get_ydata()]
    if asked.metric.name in _SHARES:
        axes[0].set_ylim(min(0, *drawn) - 0.04, max(1, *drawn) + 0.04)
    elif min(drawn) > 0:
        axes[0].set_yscale("log")
    label = pivot.column(
        dataclasses.replace(asked.metric, show="median"), results
    )  # which centre it is stands above
    figure.supylabel(textwrap.fill(label, 26), fontsize=8)
    _legend(figure, axes, looks, pivot.title(asked.rows))
    bounds = (
        ["0: not even at the shortest length", "the longest one: at least that"]
        if asked.metric.name in ("L90", "L99")
        else []
    )
    drawing.caption(
        figure,
        results,
        pivot.name_of(results, asked),
        f"lines are {_CENTRES[asked.metric.show]}, dots seeds",
        *bounds,
    )
    return figure


def _maps(results: Results, found: Sequence[Grid]) -> Any:
    """A map a table: the centre of seeds that is asked for where row and column cross, with the
    table's signs.
    """
    asked, tall = found[0].spec, max(len(grid.rows) for grid in found)
    figure, axes = _panels(
        found, height=0.75 + 0.19 * tall, sharey=len({tuple(grid.rows) for grid in found}) == 1
    )
    said: set[str] = set()
    known: list[float] = []
    for axis, grid in zip(axes, found, strict=True):
        places = [[(row, column) for column in grid.columns] for row in grid.rows]
        values = [[_centre(grid, place) for place in line] for line in places]
        signs = [[_signs(results, grid, place) for place in line] for line in places]
        image = lengths.draw_map(axis, values, signs)
        heads = [pivot.heading(results, asked.columns, column) for column in grid.columns]
        axis.set_xticks(range(len(heads)), heads, rotation=30, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(grid.rows)), [_words(row) for row in grid.rows])
        said |= {letter for text in axis.texts for letter in text.get_text()}
        known += [value for line in values for value in line if value is not None]
    shrink = min(1.0, 6 / figure.get_size_inches()[1])  # of a tall map
    label = metrics.BY_NAME[asked.metric.name].label
    beyond = ("neither", "min", "max", "both")[(min(known) < 0) + 2 * (max(known) > 1)]
    figure.colorbar(
        image,
        ax=axes,
        label=label,
        pad=0.02,
        aspect=30 * shrink,
        shrink=shrink,
        anchor=(0, 1),
        extend=beyond,
    )
    more = [
        "–: no number" if said else "white: no number",
        *(_SIGNS[sign] for sign in _SIGNS if sign in said),
    ]
    drawing.caption(
        figure,
        results,
        pivot.name_of(results, asked),
        _CENTRES[asked.metric.show],
        *more,
        reveals=False,
    )
    return figure


def _centre(grid: Grid, place: tuple[Any, Any]) -> Any:
    """What the table shows there, of every seed their median; None without a number."""
    points, metric = grid.at(*place), grid.spec.metric
    if metric.show == "best" and points:
        return cells.best(one_a_task(grid.spec, points), metric_at(grid.spec, points[0]))
    return cells.middle(grid.seeds(*place), metric.show)


def _height(value: Any) -> Any:
    """Of a number itself; of a limit its length, 0 where that is below all that were measured."""
    return value.length * (value.side >= 0) if isinstance(value, Limit) else value


def _signs(results: Results, grid: Grid, place: tuple[Any, Any]) -> str:
    points = grid.at(*place)
    return (
        pivot.signs(
            results, grid.spec, one_a_task(grid.spec, points), metric_at(grid.spec, points[0])
        )
        if points
        else ""
    )


def _panels(found: Sequence[Grid], height: float, sharey: bool) -> tuple[Any, list[Any]]:
    columns = min(len(found), 2)
    lines = math.ceil(len(found) / columns)
    size = (drawing.WIDTH * (0.62 if columns == 1 else 1), height * lines + 0.6)
    figure, axes = drawing.pyplot().subplots(
        lines, columns, figsize=size, squeeze=False, layout="constrained", sharey=sharey
    )
    for axis in axes.flat[len(found) :]:
        axis.axis("off")
    for axis, grid in zip(axes.flat, found, strict=False):
        axis.set_title(_words(grid.kind), fontsize=7)
    return figure, list(axes.flat[: len(found)])


def _looks(found: Sequence[Grid]) -> dict[tuple[Any, ...], tuple[styles.Style, dict[str, Any]]]:
    """Style and dashes of each row, the same in all panels, which may have different ones."""
    rows = list(dict.fromkeys(row for grid in found for row in grid.rows))
    shown = [_style(found, row, place) for place, row in enumerate(rows)]
    named = any(dimension in _ENCODINGS for dimension in found[0].spec.rows)
    dashes = (
        styles.dashes(shown)
        if named
        else [styles.DASHES[place % len(styles.DASHES)] for place in range(len(rows))]
    )
    return {
        r: (style, {"dashes": dash} if dash else {})
        for r, style, dash in zip(rows, shown, dashes, strict=True)
    }


def _style(found: Sequence[Grid], row: tuple[Any, ...], place: int) -> styles.Style:
    """An encoding's own, where rows are encodings; else a grey and a marker by its place."""
    if any(dimension in _ENCODINGS for dimension in found[0].spec.rows):
        return next(
            drawing.style(point.variant)
            for grid in found
            for (r, _), points in grid.found.items()
            if r == row
            for point in points
        )
    return styles.Style(_SHADES[place % len(_SHADES)], styles.MARKERS[place % len(styles.MARKERS)])


def _legend(figure: Any, axes: Sequence[Any], rows: Iterable[tuple[Any, ...]], title: str) -> None:
    """Of the rows of all panels."""
    handles = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    names = [name for name in map(_words, rows) if name in handles]
    figure.legend(
        [handles[n] for n in names],
        names,
        loc="outside lower center",
        ncols=6,
        title=title,
        title_fontsize=8,
    )


def _words(key: tuple[Any, ...]) -> str:
    return " · ".join(str(value) for value in key if str(value))


def _number_axis(axis: Any, places: Sequence[float]) -> None:
    """Ticks where something was measured; a log scale where numbers span more than a factor of
    20.
    """
    if min(places) > 0 and max(places) > 20 * min(places):
        axis.set_xscale("log")
    axis.set_xticks(places, [f"{x:g}" for x in places])
    axis.minorticks_off()
