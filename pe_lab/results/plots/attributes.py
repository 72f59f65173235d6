"""Pictures of exact match against the value of an attribute, such as the number of ones."""

import math
import textwrap
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results.plots import drawing, ticks
from pe_lab.results.plots.drawing import Line
from pe_lab.results.plots.study_data import StudyData
from pe_lab.results.plots.styles import GRAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LENGTHS = 6  # of a task: the longest
_MOST_VALUES = 20  # neighboring values are merged into at most as many bins
_LABEL_WIDTH = 36  # characters of a line below an axes
_FEW = 10  # examples of a value in all seeds, below which it is faded


def by_attribute(data: StudyData, name: str) -> "Figure | None":
    """The median over seeds for each variant and value, an axes for each task and length."""
    values = data.attributes[data.attributes["attribute"] == name]
    panels = []
    has_all_lengths = True
    for title, names in data.panels.items():
        of_panel = values[values["variant"].isin(names)]
        lengths = sorted(of_panel["length"].unique())
        has_all_lengths &= len(lengths) <= _MOST_LENGTHS
        for length in lengths[-_MOST_LENGTHS:]:
            full_title = f"{title}, length {length}".removeprefix(", ")
            panels.append((full_title, of_panel[of_panel["length"] == length]))
    if not panels:
        return None
    figure, axes = drawing.grid(len(panels), columns=2, height=2.2)
    lines = []
    for axis, (title, of_length) in zip(axes, panels, strict=True):
        for variant, part in _binned(of_length).groupby("variant", sort=False):
            look = data.variants.loc[variant]
            style = data.looks.get(look["key"])
            is_solved = not look["is_unsolved"]
            line = Line(look["key"], look["label"], part, style, is_solved=is_solved)
            _draw(axis, line)
            lines.append(line)
        axis.set_title(title)
        axis.set_xlabel(textwrap.fill(of_length["attribute_label"].iloc[0], _LABEL_WIDTH))
        axis.locator_params(axis="x", integer=True)
        ticks.shares(axis)
    axes[0].set_ylabel("exact match")
    drawing.legend(figure, lines)
    caption = (
        f"Median over seeds. Faded: fewer than {_FEW} examples in all seeds. Of many values, "
        "neighbors are merged."
    )
    if not has_all_lengths:
        caption += f" The {_MOST_LENGTHS} longest lengths; frame.read_attributes has all."
    labels = " or ".join(values["attribute_label"].unique())
    drawing.titles(figure, f"Exact match against {labels}", caption)
    return figure


def _binned(values: pd.DataFrame) -> pd.DataFrame:
    """Return each run's share of successes in each bin of values: variant, x, value, count."""
    smallest, largest = values["attribute_value"].min(), values["attribute_value"].max()
    width = math.ceil((largest - smallest + 1) / _MOST_VALUES)
    bins = (values["attribute_value"] - smallest) // width
    center = smallest + bins * width + (width - 1) / 2
    groups = values.assign(x=center).groupby(["variant", "run_id", "x"], sort=False)
    binned = groups[["count", "successes"]].sum().reset_index()
    return binned.assign(value=binned["successes"] / binned["count"])


def _draw(axis: "Axes", line: Line) -> None:
    groups = line.values.groupby("x")
    medians = groups["value"].median()
    has_few = groups["count"].sum() < _FEW
    if line.style is None:
        axis.plot(medians.index, medians, color=GRAY, linewidth=0.7, alpha=0.6, zorder=1.5)
        return
    color, marker = line.style.color, line.style.marker
    linestyle = line.style.linestyle
    axis.plot(medians.index, medians, color=color, linestyle=linestyle, alpha=0.35)
    # NaN interrupts the line, so that it does not cross a faded value.
    axis.plot(medians.index, medians.mask(has_few), color=color, linestyle=linestyle)
    face = color if line.is_solved else "white"
    for is_faded, alpha in ((True, 0.25), (False, 1.0)):
        of_alpha = medians[has_few == is_faded]
        axis.plot(
            of_alpha.index,
            of_alpha,
            marker,
            color=color,
            markerfacecolor=face,
            alpha=alpha,
        )
