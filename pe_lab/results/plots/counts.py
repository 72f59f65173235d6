"""The picture of the runs that are solved and that extrapolate."""

import textwrap
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results import statistics
from pe_lab.results.plots import drawing, styles
from pe_lab.results.plots.study_data import REVEALS, StudyData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ROWS = 30  # that fit on a page
_MOST_CHARACTERS = 40  # of a task's label, so that the bars have room


def counts(data: StudyData) -> "Figure | None":
    """The share of runs that are solved and that extrapolate, with Wilson's intervals."""
    variants = data.variants[data.variants["count"] > 0]
    # Of more variants the table is the better picture. A text has nothing to solve.
    if variants.empty or len(variants) > _MOST_ROWS or data.results.has_text:
        return None
    variants = variants.sort_values("reveals", kind="stable")
    criterion = data.results.spec.extrapolation
    shares = (
        ("Solved", "solved", "trained"),
        (f"Extrapolates: {criterion}", "extrapolating", "known"),
    )
    height = 1.25 + 0.18 * len(variants)
    figure, axes = drawing.pyplot().subplots(
        1,
        2,
        figsize=(drawing.WIDTH, height),
        sharey=True,
        layout="constrained",
    )
    for axis, (title, successes, total) in zip(axes, shares, strict=True):
        rows = zip(variants["key"], variants[successes], variants[total], strict=True)
        for row, (key, num_successes, num_runs) in enumerate(rows):
            style = data.looks.get(key)
            color = style.color if style else styles.GRAY
            _draw_share(axis, row, num_successes, num_runs, color)
        axis.set_title(textwrap.fill(title, 38))
        axis.set_xlim(-0.03, 1.2)
        axis.set_xticks([0, 0.25, 0.5, 0.75, 1])
        axis.set_xlabel("share of runs")
        axis.grid(visible=False, axis="y")
    axes[0].set_yticks(range(len(variants)), _full_labels(variants))
    axes[0].set_ylim(len(variants) - 0.5, -0.5)  # the first variant at the top
    caption = "Bars are Wilson's 95 % intervals"
    if variants["reveals"].any():
        caption += f"; {REVEALS}"
    drawing.titles(
        figure, "Runs that solve the training lengths and that extrapolate", f"{caption}."
    )
    return figure


def _draw_share(axis: "Axes", row: int, successes: int, total: int, color: str) -> None:
    interval = statistics.wilson(successes, total)
    if interval is None:
        axis.text(0, row, "not measured", va="center", fontsize=7, color="0.3")
        return
    bounds = [interval.low, interval.high]
    axis.plot(bounds, [row, row], color=color, solid_capstyle="butt", linewidth=2.2, alpha=0.5)
    axis.plot([successes / total], [row], color=color, marker="o", markersize=5)
    axis.text(1.06, row, f"{successes}/{total}", va="center", fontsize=7)


def _full_labels(variants: pd.DataFrame) -> list[str]:
    if variants["task"].nunique() < 2:
        return list(variants["label"])
    # A mixture's arguments are longer than the figure is wide.
    labels = []
    for task, label in zip(variants["task"], variants["label"], strict=True):
        words = textwrap.shorten(styles.words(task), _MOST_CHARACTERS, placeholder=" …")
        labels.append(f"{words} · {label}")
    return labels
