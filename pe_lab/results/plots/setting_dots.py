"""Picture of a number against a setting: each run as a dot, one panel for each variant.

    runs = run_scores.of(frame.read(folder).numbers)
    setting_dots.draw(runs, x="train.learning_rate", y="2x", panel="model.encodings")

A dot is hollow if its run did not solve the training lengths. The line joins the medians.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results.plots import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOR, _CHOSEN = "#0c6c9c", "#d80000"
_COLUMNS = 3  # panels of a row
_HEIGHT = 1.55  # inches of a row of panels
_SPREAD = 0.25  # share of the distance of two settings over which the dots of one are spread


def draw(
    runs: pd.DataFrame,
    *,
    x: str,
    y: str,
    panel: str,
    order: Sequence[str] | None = None,
    chosen: Mapping[str, object] | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
) -> "Figure":
    """Return the figure.

    Args:
      runs: one row for each run, with the columns x, y, panel and "solved".
      order: values of the panels, in the order of the figure; None: all, in the order of the rows.
      chosen: value of x with a ring around its median, by panel.
      xlabel, ylabel: None: the names of the columns.
    """
    names = list(order if order is not None else runs[panel].drop_duplicates())
    settings = list(runs[x].drop_duplicates())
    num_rows = -(-len(names) // _COLUMNS)
    figure, grid = drawing.pyplot().subplots(
        num_rows,
        _COLUMNS,
        figsize=(drawing.WIDTH, _HEIGHT * num_rows + 0.3),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, name in zip(grid.flat, names, strict=False):
        draw_panel(axes, runs[runs[panel] == name], x=x, y=y, settings=settings)
        axes.set_title(name)
        if chosen and name in chosen:
            _ring(axes, runs[runs[panel] == name], x, y, settings, chosen[name])
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    figure.supxlabel(xlabel or x, fontsize="medium")
    figure.supylabel(ylabel or y, fontsize="medium")
    return figure


def draw_panel(
    axes: "Axes", runs: pd.DataFrame, *, x: str, y: str, settings: Sequence[object]
) -> None:
    """Draw the runs of one variant.

    Args:
      settings: values of x, from left to right at equal distances.
    """
    medians = runs.groupby(x, sort=False)[y].median().reindex(settings)
    axes.plot(range(len(settings)), medians, color=_COLOR, linewidth=1.0, alpha=0.6)
    for index, setting in enumerate(settings):
        of_setting = runs[runs[x] == setting].sort_values("seed")
        places = _spread(index, len(of_setting))
        faces = [_COLOR if is_solved else "white" for is_solved in of_setting["solved"]]
        axes.scatter(
            places,
            of_setting[y],
            s=11,
            c=faces,
            edgecolors=_COLOR,
            linewidths=0.8,
            clip_on=False,  # dots at 0 and 1 lie on the edge of the panel
            zorder=3,
        )
    axes.set_xticks(range(len(settings)), [str(setting) for setting in settings])
    axes.set_ylim(-0.04, 1.04)


def _ring(
    axes: "Axes", runs: pd.DataFrame, x: str, y: str, settings: Sequence[object], setting: object
) -> None:
    """Draw a ring around the median of a setting."""
    median = runs.loc[runs[x] == setting, y].median()
    place = settings.index(setting)
    axes.scatter(
        [place],
        [median],
        s=90,
        facecolors="none",
        edgecolors=_CHOSEN,
        linewidths=1.2,
        clip_on=False,
        zorder=4,
    )


def _spread(center: int, count: int) -> list[float]:
    """Return places around a center, so that dots of equal height can be told apart."""
    step = _SPREAD / max(count - 1, 1)
    return [center + (index - (count - 1) / 2) * step for index in range(count)]
