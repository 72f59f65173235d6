"""Pictures of the variants of a study: one axes for each panel, one color for each variant."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results import metrics, statistics
from pe_lab.results.plots import drawing, plotted
from pe_lab.results.plots.lines import lines
from pe_lab.results.plots.plotted import Panel, Plotted
from pe_lab.results.plots.plotted import tests as tests_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROOM_OF_DOTS = 0.4  # at each end of an axis, in its width by the number of lengths
_TRAINING_END, _CHANCE = "training length", "chance level"


def by_length(data: Plotted, *, relative: bool = False) -> "Figure | None":
    """The metric against length, at the smallest position offset that was measured.

    Args:
      relative: lengths are multiples of the training length.
    """
    tests = tests_of(data.study)
    if tests.empty:
        return None
    tests = tests[tests["offset"] == data.study.offsets[0]]
    tests = tests.assign(x=tests["length"])
    if relative:
        tests["x"] /= tests["max_length"]
    figure, panels = _figure(data, tests, dots=True)
    marks = {_TRAINING_END: ":"}
    for axes, names in panels:
        numbers = tests.loc[tests["variant"].isin(names), "x"].unique().tolist()
        trained = sorted(data.study.variants.loc[names, "max_length"].unique())
        for length in [1] if relative else trained:
            axes.axvline(length, **drawing.GUIDE, linestyle=":", zorder=1)
        levels = _chance(data, names)
        # Of several training lengths, the shortest gives the widest range of relative lengths.
        places = levels["length"] / (trained[0] if relative else 1)
        if len(levels):  # a text has none
            axes.plot(places, levels["value"], **drawing.GUIDE, linestyle="--", zorder=1.2)
            marks[_CHANCE] = "--"
        drawing.ticks_at(axes, numbers, "×" if relative else "")
        if data.study.is_of_text:
            # Dots are beside their length in points, and the edge of the axes would cut them.
            axes.margins(x=_ROOM_OF_DOTS / len(numbers))
        units = data.study.variants.loc[names, "length_name"].unique()
        words = "length / training length" if relative else f"length ({' or '.join(units)})"
        axes.set_xlabel(words)
    label = _metric(data)
    title = f"{label.capitalize()} against length"
    _finish(figure, data, panels, title, label, marks=marks, dots=True)
    return figure


def by_offset(data: Plotted) -> "Figure | None":
    """The metric at the training length against the position offset."""
    offsets = data.study.offsets
    tests = tests_of(data.study)
    tests = tests[tests["length"] == tests["max_length"]]
    if len(offsets) < 2 or tests.empty:
        return None
    # Offsets are few and far apart, so they have equal distances.
    tests = tests.assign(x=tests["offset"].map(offsets.index))
    figure, panels = _figure(data, tests, dots=True)
    marks = {}
    for axes, names in panels:
        axes.set_xticks(range(len(offsets)), list(map(str, offsets)))
        axes.set_xlabel("position offset (positions)")
        levels = _chance(data, names)
        is_at_end = levels["length"].isin(data.study.variants.loc[names, "max_length"])
        for level in levels.loc[is_at_end, "value"]:
            axes.axhline(level, **drawing.GUIDE, linestyle="--", zorder=1)
            marks[_CHANCE] = "--"
    label = _metric(data)
    title = f"{label.capitalize()} at the training length against position offset"
    _finish(figure, data, panels, title, label, marks=marks, dots=True)
    return figure


def training(data: Plotted) -> "Figure | None":
    """Validation exact match during training, or the loss if exact match was not measured.

    Exact match is of the longest trained length that was measured.
    """
    is_loss = data.study.has_text
    curves = data.study.finished.merge(data.study.measured_curves, on="run")
    curves = curves[curves["metric"] == ("loss" if is_loss else "exact_match")]
    if is_loss:
        curves = curves[curves["split"] == "training"]
    else:
        curves = curves[curves["length"] <= curves["max_length"]]
        longest = curves.groupby("variant")["length"].transform("max")
        curves = curves[curves["length"] == longest]
    if curves.empty:
        return None
    figure, panels = _figure(data, curves.assign(x=curves["step"]))
    for axes, _ in panels:
        axes.set_xlabel("training step")
        if is_loss:
            drawing.log_if_wide(axes, curves["value"])
    title, label = "Validation exact match during training", _metric(data)
    if is_loss:
        symbol = data.study.symbol if data.study.is_of_text else "token"
        title, label = "Training loss", f"training loss (nats per {symbol})"
    _finish(figure, data, panels, title, label)
    return figure


def validation_loss(data: Plotted) -> "Figure | None":
    """The validation loss of a text during training, at the longest trained length."""
    curves = data.study.finished.merge(data.study.measured_curves, on="run")
    is_loss = (curves["split"] == "validation") & (curves["metric"] == "loss")
    curves = curves[is_loss & (curves["length"] == curves["max_length"])]
    if not data.study.is_of_text or curves.empty:
        return None
    bits = curves["value"] / math.log(2)
    figure, panels = _figure(data, curves.assign(x=curves["step"], value=bits))
    for axes, _ in panels:
        axes.set_xlabel("training step")
        drawing.log_if_wide(axes, bits)
    label = f"validation loss (bits per {data.study.symbol})"
    _finish(figure, data, panels, "Validation loss", label)
    return figure


def loss_by_index(data: Plotted) -> "Figure | None":
    """The loss of a text against the index in the longest window, without a position offset."""
    study = data.study
    if not study.is_of_text:
        return None
    rows = study.measured_by_index
    rows = rows[(rows["length"] == max(study.lengths)) & (rows["offset"] == study.offsets[0])]
    values = study.cases.merge(rows, on=["run", "evaluation"])
    if values.empty:
        return None
    figure, panels = _figure(data, values.assign(x=values["index"]))
    for axes, names in panels:
        for length in study.variants.loc[names, "max_length"].unique():
            axes.axvline(length, **drawing.GUIDE, linestyle=":", zorder=1)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")  # 64, and not a power of two
        axes.set_xlabel(f"index in a window of {max(study.lengths):,} {study.symbol}s")
    marks = {_TRAINING_END: ":"}
    _finish(figure, data, panels, "Loss by index", f"bits per {study.symbol}", marks=marks)
    return figure


def _figure(
    data: Plotted, values: pd.DataFrame, *, dots: bool = False
) -> "tuple[Figure, list[tuple[Axes, list[str]]]]":
    """Return a figure with a line for each variant, and the variants of each of its axes.

    Args:
      values: the columns variant, run_id, x and value.
      dots: draw single seeds as dots. Curves have too many points for them.
    """
    measured = set(values["variant"])
    # A variant without a finished run has no values.
    panels = [panel for panel in data.panels if not measured.isdisjoint(panel.names)]
    figure, grid = grid_of(panels)
    names_of_axes = []
    for axes, panel in zip(grid, panels, strict=True):
        names = [name for name in panel.names if name in measured]
        draw(axes, data, values, names, is_alone=len(panels) == 1, dots=dots)
        names_of_axes.append((axes, names))
    return figure, names_of_axes


def grid_of(panels: Sequence[Panel], titles: Sequence[str] = ("",)) -> "tuple[Figure, list[Axes]]":
    """Return a figure with axes for the panels, each as often as there are titles.

    The axes of a task are whole rows if they fit.
    """
    count = len(titles) * len(panels)
    most = 2 if count <= 4 else 3 if count in (5, 6, 9) else 4
    for_task = count // len({panel.task for panel in panels}) if len(titles) == 1 else len(titles)
    columns = most - most % for_task if for_task <= most else most
    figure, grid = drawing.grid(count, columns=columns, height=2.9 if count == 1 else 1.8)
    for axes, (panel, title) in zip(grid, itertools.product(panels, titles), strict=True):
        axes.set_title("\n".join(filter(None, (panel.title, title))))
    return figure, grid


def draw(
    axes: "Axes",
    data: Plotted,
    values: pd.DataFrame,
    names: Sequence[str],
    *,
    y: str = "value",
    hollow: Collection[object] | None = None,
    is_alone: bool = False,
    dots: bool = False,
) -> None:
    """Draw a line for each variant.

    Args:
      hollow: as in `lines`; None: the variants that no seed solved.
      is_alone: count solved runs in the legend. A legend for several axes has each name once, and
        the counts differ.
    """
    keys = {name: data.keys[name] for name in names}
    if hollow is None:
        hollow = {keys[name] for name in names if data.study.by_name[name]["is_unsolved"]}
    lines(
        values[values["variant"].isin(names)].assign(key=values["variant"].map(keys)),
        x="x",
        y=y,
        by="key",
        order=list(keys.values()),
        labels={keys[n]: _counted(data, n) if is_alone else data.labels[keys[n]] for n in names},
        looks=data.looks,
        hollow=hollow,
        dots=dots,
        axes=axes,
    )


def _counted(data: Plotted, name: str) -> str:
    """Return the label of a variant with the number of solved runs, unless all are solved."""
    row = data.study.by_name[name]
    label = data.labels[data.keys[name]]
    if row["solved"] == row["runs"] or row["has_text"]:
        return label
    return f"{label} ({row['solved']}/{row['runs']} solved)"


def _metric(data: Plotted) -> str:
    return metrics.BY_NAME[data.study.headline].label


def _chance(data: Plotted, names: Sequence[str]) -> pd.DataFrame:
    """Return the chance levels of the tasks of some variants by length."""
    levels = data.study.chance_levels
    tasks = data.study.variants.loc[list(names), "task_name"]
    is_shown = levels["task"].isin(tasks) & (levels["metric"] == data.study.headline)
    return levels[is_shown].sort_values("length")


def _finish(
    figure: "Figure",
    data: Plotted,
    panels: "Sequence[tuple[Axes, list[str]]]",
    title: str,
    label: str,
    *,
    marks: Mapping[str, str] = {},
    dots: bool = False,
) -> None:
    """Set the vertical axis, legend, title and caption of a figure.

    Args:
      label: of the vertical axis.
      marks: the line styles of lines that are no variant, by their name.
    """
    for axes, _ in panels:
        if not data.study.has_text:
            drawing.shares(axes)
        # The axes of a row share the vertical one.
        place = axes.get_subplotspec()
        if place is not None and place.is_first_col():
            axes.set_ylabel(label)
    names = list(itertools.chain(*(of_axes for _, of_axes in panels)))
    handles = [drawing.guide(name, linestyle) for name, linestyle in marks.items()]
    drawing.legend(figure, [*handles, *signs(data, names)])
    drawing.titles(figure, title, caption(data, names, dots=dots))


def signs(data: Plotted, names: Sequence[str]) -> "list[Artist]":
    """Return the entries of a legend that explain the signs of some variants, without a mark."""
    return [drawing.guide(words, "none") for words in plotted.explained(data.study, names)]


def caption(
    data: Plotted, names: Sequence[str], *, dots: bool = False, has_hollow: bool | None = None
) -> str:
    """Return the sentence that names the parts of the lines of some variants."""
    variants = data.study.variants.loc[list(names)]
    has_many = variants["finished"] >= statistics.BOOTSTRAP_FROM
    centers = []
    if not has_many.all():
        centers.append("median")
    if has_many.any():
        centers.append("interquartile mean")
    parts = [f"Thick lines: {' or '.join(centers)} over seeds"]
    if (variants["finished"] < statistics.EXACT_FROM).any():
        parts.append("thin lines: single seeds")
    if (variants["finished"] >= statistics.EXACT_FROM).any():
        parts.append("bands: 95 % intervals")
        if dots:
            parts.append("dots: single seeds")
    if variants["is_unsolved"].any() if has_hollow is None else has_hollow:
        parts.append("hollow marks: no seed solved the training lengths")
    return "; ".join(parts) + "."
