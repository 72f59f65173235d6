"""Shares of runs as dots with Wilson's intervals, one row for each variant."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results import statistics
from pe_lab.results.plots import drawing
from pe_lab.results.plots.styles import GRAY, Style
from pe_lab.runs.settings.declarations import check_keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def intervals(
    data: pd.DataFrame,
    *,
    successes: str = "successes",
    total: str = "total",
    labels: Mapping[str, str] | None = None,
    looks: Mapping[str, Style] | None = None,
    axes: "Axes | None" = None,
) -> "Axes":
    """Draw a share with its interval for each row of a frame, and return the axes.

    Args:
      data: numbers of runs, with the names of the rows as its index.
      successes, total: the columns of the successful runs and of all runs.
      labels: of the rows; None: their names.
      looks: of the rows; a row without one is gray.
      axes: None: new ones.
    """
    check_keys("The frame", (successes, total), data)
    axes = axes or drawing.new_axes()
    for row, name in enumerate(data.index):
        num_successes, num_runs = int(data.at[name, successes]), int(data.at[name, total])
        color = looks[name].color if looks and name in looks else GRAY
        interval = statistics.wilson(num_successes, num_runs)
        if interval is None:
            axes.text(0, row, "not measured", va="center", fontsize=7, color="0.3")
            continue
        ends = [interval.low, interval.high]
        axes.plot(ends, [row] * 2, color=color, solid_capstyle="butt", linewidth=2.2, alpha=0.5)
        axes.plot([num_successes / num_runs], [row], color=color, marker="o", markersize=5)
        axes.text(1.06, row, f"{num_successes}/{num_runs}", va="center", fontsize=7)
    axes.set_xlim(-0.03, 1.2)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(visible=False, axis="y")
    axes.set_yticks(range(len(data)), [(labels or {}).get(name, name) for name in data.index])
    axes.set_ylim(len(data) - 0.5, -0.5)  # the first row at the top
    return axes
