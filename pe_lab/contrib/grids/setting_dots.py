"""Runs as dots at the values of a setting, with a line that joins their medians.

    runs = run_scores.of(frame.read(folder).numbers)
    rope = runs[runs["model.encodings"] == "rope"]
    setting_dots.setting_dots(rope, x="train.learning_rate", y="2x", chosen="0.003")

A dot is hollow if its run did not solve the training lengths.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pe_lab.results.plots import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOR, _CHOSEN = "#0c6c9c", "#d80000"
_SPREAD = 0.25  # share of the distance of two settings over which the dots of one are spread


def setting_dots(
    data: pd.DataFrame,
    *,
    x: str,
    y: str,
    order: Sequence[object] | None = None,
    chosen: object = None,
    axes: "Axes | None" = None,
) -> "Axes":
    """Draw the runs of one variant, and return the axes.

    Args:
      data: one row for each run, with the columns x, y, "seed" and "solved". The values of an axis
        of a study are labels, which are texts.
      order: values of x, from left to right at equal distances; None: in the order of the rows.
      chosen: a value of x, with a ring around its median.
      axes: None: new ones.
    """
    axes = axes or drawing.new_axes()
    settings = list(data[x].unique() if order is None else order)
    medians = data.groupby(x, sort=False)[y].median().reindex(settings)
    axes.plot(range(len(settings)), medians, color=_COLOR, linewidth=1.0, alpha=0.6)
    # Dots at 0 and 1 lie on the edge of the axes, which would cut them.
    look: dict[str, Any] = dict(s=11, edgecolors=_COLOR, linewidths=0.8, clip_on=False, zorder=3)
    for index, setting in enumerate(settings):
        runs = data[data[x] == setting].sort_values("seed")
        faces = [_COLOR if is_solved else "white" for is_solved in runs["solved"]]
        axes.scatter(_spread(index, len(runs)), runs[y], c=faces, **look)
    if chosen is not None:
        place = settings.index(chosen)
        ring: dict[str, Any] = dict(s=90, facecolors="none", edgecolors=_CHOSEN, linewidths=1.2)
        axes.scatter([place], [medians.iloc[place]], **ring, clip_on=False, zorder=4)
    axes.set_xticks(range(len(settings)), [str(setting) for setting in settings])
    axes.set_ylim(-0.04, 1.04)
    return axes


def _spread(center: int, count: int) -> list[float]:
    """Return places around a center, so that dots of equal height can be told apart."""
    step = _SPREAD / max(count - 1, 1)
    return [center + (index - (count - 1) / 2) * step for index in range(count)]
