"""Pictures of runs: their counts, exact match by attributes, and the metric by learning rate."""

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pe_lab.results import compare, metrics, statistics, summary
from pe_lab.results.plots import drawing, pictures, plotted, styles
from pe_lab.results.plots.intervals import intervals
from pe_lab.results.plots.plotted import Plotted
from pe_lab.runs import paths
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_ROWS = 30  # of the picture of counts, that fit on a page
_MOST_CHARACTERS = 40  # of a task's label, so that the bars have room
_MOST_LENGTHS = 6  # of a task in a picture of attributes: the longest
_MOST_VALUES = 20  # of an attribute: neighboring values are merged into at most as many bins
_FEW = 10  # examples of a value in all seeds, below which it is left out
_RATE = "train.learning_rate"
_RING: dict[str, Any] = dict(marker="o", markersize=9, markerfacecolor="none", color="0.2")


def counts(data: Plotted) -> "Figure | None":
    """The share of runs that are solved and that extrapolate, with Wilson's intervals."""
    variants = data.study.variants[data.study.variants["runs"] > 0]
    # Of more variants the table is the better picture. A text has nothing to solve.
    if variants.empty or len(variants) > _MOST_ROWS or data.study.has_text:
        return None
    variants = variants.sort_values("reveals_target_length", kind="stable")
    outcomes = compare.extrapolation_counts(data.study, variants.index)
    variants = variants.assign(
        trained=variants["runs"] - variants["failed"],
        extrapolating=[counts.extrapolating for counts in outcomes.values()],
        known=[counts.count for counts in outcomes.values()],
    )
    # A test up to the training length is no extrapolation.
    point = data.study.spec.extrapolation.point
    is_beyond = point.offset > 0 or point.at is None or point.at > 1
    title, verb = ("Extrapolates", "extrapolate") if is_beyond else ("Passes", "pass the test")
    size = (drawing.WIDTH, 1.25 + 0.18 * len(variants))
    figure, grid = drawing.pyplot().subplots(1, 2, figsize=size, sharey=True, layout="constrained")
    # Variants without a finished run are in no panel, so they have no look.
    looks = {name: data.looks[key] for name, key in data.keys.items() if key in data.looks}
    look: dict[str, Any] = dict(labels=_full_labels(data, variants), looks=looks)
    for axes, of_axes, successes, total in (
        (grid[0], "Solved", "solved", "trained"),
        (grid[1], title, "extrapolating", "known"),
    ):
        intervals(variants, successes=successes, total=total, axes=axes, **look)
        axes.set_title(of_axes)
        axes.set_xlabel("share of runs")
    caption = f"Bars are Wilson's 95 % intervals. {title}: {data.study.spec.extrapolation}."
    if explained := plotted.explained(data.study, variants.index):
        caption += f" {'; '.join(explained)}."
    drawing.titles(figure, f"Runs that solve the training lengths and that {verb}", caption)
    return figure


def _full_labels(data: Plotted, variants: pd.DataFrame) -> dict[str, str]:
    labels = {name: plotted.in_words(data.study, name) for name in variants.index}
    if variants["task_name"].nunique() < 2:
        return labels
    # A mixture's arguments are longer than the figure is wide.
    for name, task in variants["task_name"].items():
        words = textwrap.shorten(styles.words(task), _MOST_CHARACTERS, placeholder=" …")
        labels[str(name)] = f"{words} · {labels[str(name)]}"
    return labels


def by_attribute(data: Plotted, name: str) -> "Figure | None":
    """Exact match for each variant against an attribute, an axes for each panel and length."""
    values = data.study.finished.merge(data.study.measured_attributes, on="run")
    is_shown = (values["attribute"] == name) & (values["split"] == "test")
    values = values[is_shown & (values["offset"] == 0) & (values["override"] == "")]
    panels = []
    has_all_lengths = True
    for panel in data.panels:
        of_panel = values[values["variant"].isin(panel.names)]
        lengths = sorted(of_panel["length"].unique())
        has_all_lengths &= len(lengths) <= _MOST_LENGTHS
        for length in lengths[-_MOST_LENGTHS:]:
            title = f"{panel.title}, length {length}".removeprefix(", ")
            panels.append((title, of_panel[of_panel["length"] == length]))
    if not panels:
        return None
    figure, grid = drawing.grid(len(panels), columns=2, height=2.2)
    for axes, (title, of_length) in zip(grid, panels, strict=True):
        pictures.draw(axes, data, _binned(of_length), list(of_length["variant"].unique()))
        axes.set_title(title)
        axes.set_xlabel(textwrap.fill(of_length["attribute_label"].iloc[0], 36))
        axes.locator_params(axis="x", integer=True)
        drawing.shares(axes)
    grid[0].set_ylabel("exact match")
    drawing.legend(figure, pictures.signs(data, list(values["variant"].unique())))
    caption = pictures.caption(data, list(values["variant"].unique()))
    caption += (
        f" Of many values, neighbors are merged. Values with fewer than {_FEW} examples in all "
        "seeds are left out."
    )
    if not has_all_lengths:
        caption += f" The {_MOST_LENGTHS} longest lengths; Study.attributes has all."
    # Tasks have labels of their own for one attribute, which the panels show.
    labels = values["attribute_label"].unique()
    words = labels[0] if len(labels) == 1 else name.replace("_", " ")
    drawing.titles(figure, f"Exact match against {words}", caption)
    return figure


def _binned(values: pd.DataFrame) -> pd.DataFrame:
    """Return each run's share of successes in each bin of values: variant, run_id, x, value."""
    smallest, largest = values["attribute_value"].min(), values["attribute_value"].max()
    width = math.ceil((largest - smallest + 1) / _MOST_VALUES)
    bins = (values["attribute_value"] - smallest) // width
    center = smallest + bins * width + (width - 1) / 2
    groups = values.assign(x=center).groupby(["variant", "run_id", "x"], sort=False)
    binned = groups[["count", "successes"]].sum().reset_index()
    examples = binned.groupby(["variant", "x"])["count"].transform("sum")
    shares = binned["successes"] / binned["count"]
    return binned.assign(value=shares.where(examples >= _FEW))  # a gap in the line


def learning_rate(data: Plotted) -> "Figure | None":
    """The metric within and beyond training against the learning rate, if rates vary.

    Each panel has two axes.
    """
    if _RATE not in data.full.axes:
        return None
    # A study may compare rates without declaring them as tuned. Here its variants have all rates.
    data = plotted.of(data.full, [_RATE])
    is_text = data.full.is_of_text
    name = data.full.headline if is_text else "exact_match"
    point = data.full.spec.extrapolation.point
    within = MetricSpec("in_distribution", point, label="up to the training length")
    if is_text:  # it has bits in place of exact match
        within = MetricSpec(name, MetricPoint(at=1), label="at the training length")
    shown = [within, MetricSpec(name, point, label=str(point))]
    rates = _rates(data, shown)
    if rates.empty:
        return None
    is_solved = rates.groupby([rates["variant"].map(data.keys), "x"])["solved"].any() | is_text
    hollow = set(is_solved.index[~is_solved])
    varied = set(rates["variant"])
    panels = [panel for panel in data.panels if not varied.isdisjoint(panel.names)]
    titles = [metric.label for metric in shown]
    figure, grid = pictures.grid_of(panels, titles)
    for axes, (panel, title) in zip(grid, itertools.product(panels, titles), strict=True):
        names = [name for name in panel.names if name in varied]
        pictures.draw(axes, data, rates, names, y=title, hollow=hollow)
        of_panel = rates[rates["variant"].isin(names)]
        for _, chosen in of_panel[of_panel["is_chosen"]].groupby("variant", sort=False):
            center = statistics.center(chosen[title].dropna().tolist())
            if center is not None:
                axes.plot(chosen["x"].iloc[0], center.point, linestyle="none", **_RING)
        drawing.ticks_at(axes, of_panel["x"].tolist())
        axes.set_xlabel("peak learning rate")
        if is_text:
            axes.margins(y=0.1)  # room for a circle
        else:
            drawing.shares(axes)
    label = metrics.BY_NAME[name].label
    grid[0].set_ylabel(label)
    drawing.legend(figure, pictures.signs(data, sorted(varied)))
    caption = pictures.caption(data, sorted(varied), has_hollow=bool(hollow))
    words = f"Circles mark the learning rate with the lowest validation loss. {caption}"
    drawing.titles(figure, f"{label.capitalize()} against learning rate", words)
    return figure


def _rates(data: Plotted, shown: Sequence[MetricSpec]) -> pd.DataFrame:
    """Return metrics at their points, for every run of each rate.

    Columns: those of the cases, x (the rate in the config), is_chosen, and the labels of metrics.
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
    for metric in shown:
        values = summary.values_at(data.full, cases, metric.name, metric.point)
        cases[metric.label] = values["value"].to_numpy()
    return cases
