"""A map of the numbers of a table, on colors from 0 to 1."""

from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results.formats import DASH, number
from pe_lab.results.plots import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOR_MAP = "cividis"  # from dark to light for every reader, and in print


def heat_map(
    numbers: pd.DataFrame,
    *,
    texts: pd.DataFrame | None = None,
    axes: "Axes | None" = None,
) -> "Axes":
    """Draw a frame as a map, and return the axes.

    Args:
      numbers: one row for each row of the map, such as `Summary.center`. NaN has no color.
      texts: in the fields; None: the numbers.
      axes: None: new ones.
    """
    axes = axes or drawing.new_axes()
    shades = numbers.astype(float).to_numpy()
    axes.imshow(shades, cmap=_COLOR_MAP, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for y, row in enumerate(numbers.index):
        for x, column in enumerate(numbers.columns):
            shade = shades[y, x]
            is_known = shade == shade  # not NaN
            text = number(shade) if is_known else DASH
            if texts is not None:
                text = texts.at[row, column]
            color = "black" if not is_known or shade > 0.5 else "white"  # on a light or dark shade
            axes.text(x, y, text, ha="center", va="center", color=color, fontsize=7)
    axes.set_yticks(range(len(numbers.index)), list(map(str, numbers.index)))
    axes.set_xticks(range(len(numbers.columns)), list(map(str, numbers.columns)))
    return axes
