"""Pictures of the choice of a setting: validation loss and exact match against its values."""

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from pe_lab.results import selection, statistics, summary
from pe_lab.results.plots import drawing, plotted, styles
from pe_lab.results.plots.lines import lines
from pe_lab.results.plots.plotted import MOST_LINES, Plotted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RATE = "train.learning_rate"
_LEAST_LOSS = 1e-8  # nats per token, below the resolution of float32
_CHOSEN, _AT_EDGE = "o", "D"  # rings around the mark of a choice


def learning_rate(data: Plotted) -> "Figure | None":
    """Exact match within and beyond training against the learning rate, if rates vary."""
    titles = {
        "in_distribution": "Up to the training length",
        "exact_match": str(data.full.spec.extrapolation.point).capitalize(),
    }
    rates = plotted.settings_of_rates(data, _RATE, list(titles))
    if rates.empty:
        return None
    # The rate is tuned here even if the study compares rates, so the names are others.
    names = list(rates["variant"].unique())
    labels = {name: styles.words(name) for name in names}
    looks = styles.assign([names[:MOST_LINES]])
    figure, grid = drawing.grid(2, columns=2, height=2.2)
    for axes, (metric, title) in zip(grid, titles.items(), strict=True):
        lines(rates, x="x", y=metric, order=names, labels=labels, looks=looks, axes=axes)
        for _, of_variant in rates[rates["is_chosen"]].groupby("variant", sort=False):
            center = statistics.center(of_variant[metric].dropna().tolist())
            if center is not None:
                ring = _ring(_CHOSEN, markersize=9)
                axes.plot(of_variant["x"].iloc[0], center.point, **ring)
        axes.set_title(title)
        axes.set_xscale("log")
        drawing.ticks_at(axes, rates["x"].tolist())
        axes.set_xlabel("peak learning rate")
        drawing.shares(axes)
    grid[0].set_ylabel("exact match")
    drawing.legend(figure)
    caption = "Circles mark the learning rate with the lowest validation loss."
    drawing.titles(figure, "Exact match against learning rate", caption)
    return figure


def _ring(marker: str, markersize: int = 10) -> dict[str, Any]:
    look: dict[str, Any] = dict(marker=marker, markersize=markersize, markerfacecolor="none")
    return {**look, "color": "0.2", "linestyle": "none"}


def tuning(data: Plotted) -> "Figure | None":
    """Validation loss against each tuned setting, with the choice of each variant."""
    settings = data.with_grids.settings
    if settings is None:
        return None
    several = settings.groupby("variant")["candidate"].transform("size") > 1
    settings = settings[several & settings["variant"].isin(data.study.trained.index)]
    # Losses of different seeds are not compared.
    compared = settings[settings["has_shared_seeds"]]
    num_left_out = settings["variant"].nunique() - compared["variant"].nunique()
    panels = []
    for path in data.full.spec.tuned:
        for title, names in data.panels.items():
            shown = compared[compared["variant"].isin(names)]
            if len(shown):
                panels.append((title, path, shown))
    if not panels:
        return None
    figure, grid = drawing.grid(len(panels), columns=2, height=2.4)
    for axes, (title, path, shown) in zip(grid, panels, strict=True):
        axes.set_title(title)
        _draw_tuning(axes, data, path, shown)
    grid[0].set_ylabel("validation loss (nats per token)")
    rings = {"chosen": _CHOSEN, "chosen, at an edge": _AT_EDGE}
    line = drawing.pyplot().Line2D
    handles = [line([], [], label=label, **_ring(marker)) for label, marker in rings.items()]
    drawing.legend(figure, handles)
    caption = (
        "Mean validation loss over the seeds that all settings have. Hollow marks: another number "
        "of seeds is solved than with the choice. A setting without a mark has a run that "
        f"diverged, or none that finished. A loss below {_LEAST_LOSS:g} is drawn there."
    )
    if num_left_out:
        caption += f" Left out: {num_left_out} without such a seed."
    drawing.titles(figure, "Validation loss against the tuned setting", caption)
    return figure


def _draw_tuning(axes: "Axes", data: Plotted, path: str, settings: pd.DataFrame) -> None:
    """Draw the losses of variants along one axis, with the choice on all other tuned axes."""
    labels = list(dict.fromkeys(settings[path]))
    numbers = summary.as_numbers(labels)
    # Labels that are no numbers are drawn at equal distances.
    places = dict(zip(labels, numbers or range(len(labels)), strict=True))
    others = [axis for axis in data.full.spec.tuned if axis != path]
    parts = []
    for name, of_variant in settings.groupby("variant", sort=False):
        chosen = of_variant[of_variant["is_chosen"]]
        is_shown = (of_variant[others] == chosen[others].iloc[0]).all(axis=1) if others else True
        # Infinite: a run diverged.
        is_shown &= of_variant["loss"].map(math.isfinite)
        at_edge = selection.at_edge(of_variant.to_dict("records"), [path])
        shown = of_variant[is_shown].assign(is_at_edge=at_edge)
        parts.append(shown.assign(key=data.keys[str(name)]))
    drawn = pd.concat(parts)
    # A log axis has no 0.
    drawn = drawn.assign(x=drawn[path].map(places), y=drawn["loss"].clip(lower=_LEAST_LOSS))
    untied = drawn[~drawn["is_tied"]]
    lines(
        drawn.iloc[:0],
        x="x",
        y="y",
        by="key",
        order=list(drawn["key"].unique()),
        labels=data.labels,
        looks=data.looks,
        centers=drawn.pivot(index="x", columns="key", values="y").sort_index(),
        hollow=set(zip(untied["key"], untied["x"], strict=True)),
        axes=axes,
    )
    for _, chosen in drawn[drawn["is_chosen"]].iterrows():
        axes.plot(
            [chosen["x"]], [chosen["y"]], **_ring(_AT_EDGE if chosen["is_at_edge"] else _CHOSEN)
        )
    axes.set_xlabel(styles.axis_name(path))
    if drawn["y"].max() > 10 * drawn["y"].min():  # within a decade, a log axis has no tick labels
        axes.set_yscale("log")
    if numbers is None:
        axes.set_xticks(list(places.values()), list(places))
        return
    if min(numbers) > 0:
        axes.set_xscale("log")
    drawing.ticks_at(axes, numbers)
