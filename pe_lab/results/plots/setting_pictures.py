"""Picture of the choice of a setting: exact match against its values."""

from typing import TYPE_CHECKING, Any

from pe_lab.results import statistics
from pe_lab.results.plots import drawing, plotted, styles
from pe_lab.results.plots.lines import lines
from pe_lab.results.plots.plotted import MOST_LINES, Plotted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RATE = "train.learning_rate"
_RING: dict[str, Any] = dict(marker="o", markersize=9, markerfacecolor="none", color="0.2")


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
                axes.plot(of_variant["x"].iloc[0], center.point, linestyle="none", **_RING)
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
