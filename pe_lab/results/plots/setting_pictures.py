"""Picture of the choice of a setting: exact match against its values."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pe_lab.results import selection, statistics, summary
from pe_lab.results.plots import drawing, styles
from pe_lab.results.plots.lines import lines
from pe_lab.results.plots.plotted import MOST_LINES, Plotted
from pe_lab.runs import paths
from pe_lab.runs.studies.analysis_spec import SEPARATOR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RATE = "train.learning_rate"
_RING: dict[str, Any] = dict(marker="o", markersize=9, markerfacecolor="none", color="0.2")


def learning_rate(data: Plotted) -> "Figure | None":
    """Exact match within and beyond training against the learning rate, if rates vary.

    Each task has two axes.
    """
    titles = {
        "in_distribution": "Up to the training length",
        "exact_match": str(data.full.spec.extrapolation.point).capitalize(),
    }
    rates = _rates(data, list(titles))
    if rates.empty:
        return None
    # The rate is tuned here even if the study compares rates, so the names are others.
    tasks = {"": rates}
    if "task" in data.full.axes and rates["task"].nunique() > 1:
        tasks = {str(task): rows for task, rows in rates.groupby("task", sort=False)}
    for task, of_task in tasks.items():
        lines_of = [_without_label(name, task) for name in of_task["variant"]]
        tasks[task] = of_task.assign(line=lines_of)
    names = list(pd.concat(tasks.values())["line"].unique())
    labels = {name: styles.words(name) for name in names}
    looks = styles.assign([names[:MOST_LINES]])
    figure, grid = drawing.grid(2 * len(tasks), columns=2, height=2.2)
    panels = itertools.product(tasks.items(), titles.items())
    for axes, ((task, of_task), (metric, title)) in zip(grid, panels, strict=True):
        present = set(of_task["line"])
        order = [name for name in names if name in present]
        look: dict[str, Any] = dict(order=order, labels=labels, looks=looks)
        lines(of_task, x="x", y=metric, by="line", axes=axes, **look)
        for _, of_line in of_task[of_task["is_chosen"]].groupby("line", sort=False):
            center = statistics.center(of_line[metric].dropna().tolist())
            if center is not None:
                axes.plot(of_line["x"].iloc[0], center.point, linestyle="none", **_RING)
        axes.set_title(f"{styles.words(task)}\n{title}" if task else title)
        axes.set_xscale("log")
        drawing.ticks_at(axes, of_task["x"].tolist())
        axes.set_xlabel("peak learning rate")
        drawing.shares(axes)
    for axes in grid[::2]:
        axes.set_ylabel("exact match")
    drawing.legend(figure)
    caption = "Circles mark the learning rate with the lowest validation loss."
    drawing.titles(figure, "Exact match against learning rate", caption)
    return figure


def _rates(data: Plotted, names: Sequence[str]) -> pd.DataFrame:
    """Return metrics at the point of extrapolation, for every run of each rate.

    Columns: those of the cases, x (the rate in the config), is_chosen, and one for each metric.
    Empty if the study does not vary the rate.
    """
    if _RATE not in data.full.axes:
        return pd.DataFrame()
    # A study may sweep the rate without declaring it as tuned.
    chosen = selection.choose(data.full, axes=[_RATE])
    assert chosen.settings is not None
    assert chosen.candidates is not None
    several = chosen.settings.groupby("variant")["candidate"].transform("size") > 1
    flags = chosen.settings.loc[several, ["variant", "candidate", "is_chosen"]]
    cases = chosen.candidates.merge(flags, on=["variant", "candidate"])
    cases = cases[(cases["status"] == "finished") & (cases["evaluation"] == 0)]
    cases["x"] = [paths.value_at(config, _RATE) for config in cases["config"]]
    point = data.full.spec.extrapolation.point
    for name in names:
        cases[name] = summary.values_at(data.full, cases, name, point)["value"].to_numpy()
    return cases


def _without_label(name: str, label: str) -> str:
    """Return the name of a variant without one of its labels."""
    return SEPARATOR.join(part for part in name.split(SEPARATOR) if part != label)
