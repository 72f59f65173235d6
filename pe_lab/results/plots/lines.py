"""Lines of numbers against an axis: the center over runs, with intervals or single runs.

study = frame.read("results/quickstart")
tests = study.numbers.query("metric == 'exact_match' and split == 'test'")
lines.lines(tests, x="length", order=["rope", "alibi"])
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pe_lab.results import statistics
from pe_lab.results.plots import drawing, literal, styles
from pe_lab.results.plots.styles import Style
from pe_lab.runs.settings.declarations import check_keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PITCH = 1.6  # points between dots of equal height
_HEIGHTS = 45  # of dots one above the other, in axes of a usual height
_MOST_DOTS = 9  # widths of a dot, of a row of dots
_ROOM = 150  # points, over which the dots at all x are spread


def lines(
    data: pd.DataFrame,
    *,
    x: str = "length",
    y: str = "value",
    by: str = "variant",
    order: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    looks: Mapping[str, Style] | None = None,
    hollow: Collection[object] = (),
    centers: pd.DataFrame | None = None,
    dots: bool = False,
    axes: "Axes | None" = None,
) -> "Axes":
    """Draw one line for each value of a column, and return the axes.

    Below five runs, a thin line shows each run; from five on, a band shows the 95 % interval. A run
    has one value of a setting, so `contrib.grids.setting_dots` draws runs against a setting.

    Args:
      data: one row for each number, with the columns x, y, `by` and run_id. A line has a gap where
        all of its runs have NaN.
      order: the lines, in the order of the legend; None: all, in the order of the rows.
      labels: of the lines in the legend; a line without one has its name.
      looks: of the lines; a line without one gets the next free one.
      hollow: names of lines with hollow marks, or (name, x) of single hollow marks.
      centers: the values of the lines, with a row for each x and a column for each line; the runs
        are dots, because runs at one x have nothing in common with those at the next. None: the
        centers of `statistics`.
      dots: draw each run as a dot where there is an interval. Runs often fall into two groups,
        which no center describes. Dots of nearly equal height are side by side.
      axes: None: new ones.
    """
    axes = axes or drawing.new_axes()
    check_keys("The frame", (x, y, by), data)
    names = list(data[by].unique()) if order is None else order
    # A line may have no number: its name is still a category or a center.
    known = data[by].astype("category").cat.categories if centers is None else centers
    check_keys(f"The column {by!r}", names, known)
    looks = styles.assign([names], looks)
    groups = dict(list(data.groupby(by, sort=False, observed=True)))
    swarms = []
    for name in names:
        values = groups.get(name, data.iloc[:0])
        center, bands = _centers(values, x, y)
        style = looks[name]
        if len(values) and (centers is not None or (dots and not bands.empty)):
            swarms.append((style.color, values.dropna(subset=y)))
        if centers is not None:
            center = centers[name].dropna()
        elif bands.empty:
            _draw_runs(axes, values, x, y, style)
        else:
            ends = bands["low"], bands["high"]
            axes.fill_between(bands.index, *ends, color=style.color, alpha=0.1, linewidth=0)
        _draw_center(axes, center, style, (labels or {}).get(name, name), is_hollow=name in hollow)
        _draw_hollow(axes, center[[(name, place) in hollow for place in center.index]], style)
    if swarms:
        _draw_swarms(axes, swarms, x, y)
    return axes


def _draw_center(
    axes: "Axes", center: "pd.Series[float]", style: Style, label: str, *, is_hollow: bool
) -> None:
    axes.plot(
        center.index,
        center,
        color=style.color,
        linestyle=style.linestyle,
        marker=style.marker,
        markerfacecolor="white" if is_hollow else style.color,
        label=literal.legend_label(label),
        zorder=3,
    )


def _draw_hollow(axes: "Axes", marks: "pd.Series[float]", style: Style) -> None:
    if len(marks):
        axes.plot(
            marks.index,
            marks,
            color=style.color,
            linestyle="none",
            marker=style.marker,
            markerfacecolor="white",
            zorder=4,
        )


def _draw_swarms(axes: "Axes", swarms: Sequence[tuple[str, pd.DataFrame]], x: str, y: str) -> None:
    """Draw the runs of lines as dots, those of a line side by side, and lines left to right."""
    from matplotlib.transforms import ScaledTranslation

    every = pd.concat([values for _, values in swarms])
    height = np.ptp(every[y]) / _HEIGHTS or 1.0
    places = [_side_by_side(values, x, y, height) for _, values in swarms]
    widths = [2 * of_line.abs().max() + 1.5 for of_line in places]
    spec = axes.get_subplotspec()
    room = _ROOM / every[x].nunique() / (spec.get_gridspec().ncols if spec else 1)
    pitch = min(_PITCH, room / sum(widths))
    left = -sum(widths) / 2
    for (color, values), of_line, width in zip(swarms, places, widths, strict=True):
        look: dict[str, Any] = dict(markersize=3, color=color, alpha=0.5)
        for place, dots in values.groupby(of_line):
            # In points, so that the scale of the axis does not matter.
            shift = (left + width / 2 + place) * pitch / 72
            moved = ScaledTranslation(shift, 0, axes.figure.dpi_scale_trans)
            axes.plot(dots[x], dots[y], ".", transform=axes.transData + moved, **look)
        left += width


def _side_by_side(values: pd.DataFrame, x: str, y: str, height: float) -> "pd.Series[float]":
    """Return the place of each run in its row of dots: 0 in the middle, 1 a dot to the right."""
    rows = values.groupby([x, (values[y] / height).round()])[y]
    sizes = rows.transform("size")
    # Long rows are closer together.
    return (rows.cumcount() - (sizes - 1) / 2) * (_MOST_DOTS / sizes).clip(upper=1)


def _draw_runs(axes: "Axes", values: pd.DataFrame, x: str, y: str, style: Style) -> None:
    look: dict[str, Any] = dict(color=style.color, linestyle=style.linestyle)
    for _, run in values.groupby("run_id", sort=False, observed=True):
        path = run.sort_values(x)
        axes.plot(path[x], path[y], linewidth=0.6, alpha=0.45, **look)


def _centers(values: pd.DataFrame, x: str, y: str) -> "tuple[pd.Series[float], pd.DataFrame]":
    """Return the center of the runs by x, and its interval where there are enough runs."""
    points, bands = {}, {}
    for place, numbers in values.groupby(x)[y]:
        center = statistics.center(numbers.dropna().tolist())
        points[place] = center.point if center else math.nan
        if center and center.interval is not None:
            bands[place] = {"low": center.interval.low, "high": center.interval.high}
    return pd.Series(points, dtype=float), pd.DataFrame.from_dict(bands, orient="index")
