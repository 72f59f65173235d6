"""Picture of the choice of a setting: exact match against its values."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pe_lab.results import statistics, summary
from pe_lab.results.plots import drawing, pictures, plotted
from pe_lab.results.plots.plotted import Plotted
from pe_lab.runs import paths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RATE = "train.learning_rate"
_RING: dict[str, Any] = dict(marker="o", markersize=9, markerfacecolor="none", color="0.2")


def learning_rate(data: Plotted) -> "Figure | None":
    """Exact match within and beyond training against the learning rate, if rates vary.

    Each panel has two axes.
    """
    if _RATE not in data.full.axes:
        return None
    # A study may compare rates without declaring them as tuned. Here its variants have all rates.
    data = plotted.of(data.full, [_RATE])
    titles = {
        "in_distribution": "up to the training length",
        "exact_match": str(data.full.spec.extrapolation.point),
    }
    rates = _rates(data, list(titles))
    if rates.empty:
        return None
    is_solved = rates.groupby([rates["variant"].map(data.keys), "x"])["solved"].any()
    hollow = set(is_solved.index[~is_solved])
    varied = set(rates["variant"])
    panels = [panel for panel in data.panels if not varied.isdisjoint(panel.names)]
    figure, grid = pictures.grid_of(panels, list(titles.values()))
    for axes, (panel, metric) in zip(grid, itertools.product(panels, titles), strict=True):
        names = [name for name in panel.names if name in varied]
        pictures.draw(axes, data, rates, names, y=metric, hollow=hollow)
        of_panel = rates[rates["variant"].isin(names)]
        for _, chosen in of_panel[of_panel["is_chosen"]].groupby("variant", sort=False):
            center = statistics.center(chosen[metric].dropna().tolist())
            if center is not None:
                axes.plot(chosen["x"].iloc[0], center.point, linestyle="none", **_RING)
        drawing.ticks_at(axes, of_panel["x"].tolist())
        axes.set_xlabel("peak learning rate")
        drawing.shares(axes)
    grid[0].set_ylabel("exact match")
    drawing.legend(figure)
    caption = pictures.caption(data, sorted(varied), has_hollow=bool(hollow))
    words = f"Circles mark the learning rate with the lowest validation loss. {caption}"
    drawing.titles(figure, "Exact match against learning rate", words)
    return figure


def _rates(data: Plotted, names: Sequence[str]) -> pd.DataFrame:
    """Return metrics at the point of extrapolation, for every run of each rate.

    Columns: those of the cases, x (the rate in the config), is_chosen, and one for each metric.
    Variants with a single rate are left out.
    """
    chosen = data.study
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
