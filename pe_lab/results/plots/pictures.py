"""Pictures of the variants of a study: one axes for each task, one color for each variant."""

import dataclasses
import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results import statistics
from pe_lab.results.plots import drawing, styles, ticks
from pe_lab.results.plots.drawing import Line
from pe_lab.results.plots.study_data import MOST_LINES, REVEALS, StudyData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TRAINING_END = "training length"
_CHANCE = "chance level"


@dataclasses.dataclass(frozen=True)
class Options:
    """How a user wants the pictures.

    Attributes:
      relative: lengths are multiples of the training length, on a log axis.
      small_panels: each variant has an axes of its own.
    """

    relative: bool = False
    small_panels: bool = False


def by_length(data: StudyData, options: Options) -> "Figure | None":
    """The metric against length, without a position offset."""
    if data.tests.empty:
        return None
    smallest = data.results.offsets[0]
    tests = data.tests[data.tests["offset"] == smallest]
    tests = tests.assign(x=tests["length"])
    if options.relative:
        tests["x"] /= tests["variant"].map(data.variants["max_length"])
    figure, axes, lines = _figure(data, tests, options, dots=True)
    for axis, panel in zip(axes, lines, strict=True):
        _mark_training(axis, data, panel, options)
        _draw_chance(axis, data, panel, options)
        places = pd.concat([line.values["x"] for line in panel])
        numbers = sorted(places.unique().tolist())
        if options.relative:
            axis.set_xscale("log", base=2)
            ticks.at_numbers(axis, numbers, "×")
            axis.set_xlabel("length / training length")
        else:
            ticks.lengths(axis, numbers)
            units = data.variants.loc[_names(panel), "unit"].unique()
            axis.set_xlabel(f"length ({' or '.join(units)})")
    title = f"{data.metric_label.capitalize()} against length"
    marks = ((_TRAINING_END, ":"), (_CHANCE, "--"))
    _finish(figure, axes, data, lines, title, marks=marks, dots=True)
    return figure


def by_offset(data: StudyData, options: Options) -> "Figure | None":
    """The metric at the training length against the position offset."""
    if len(data.results.offsets) < 2:
        return None
    trained = data.tests["variant"].map(data.variants["max_length"])
    tests = data.tests[data.tests["length"] == trained]
    if tests.empty:
        return None
    offsets = data.results.offsets
    # Offsets are few and far apart, so they have equal distances.
    tests = tests.assign(x=tests["offset"].map(offsets.index))
    figure, axes, lines = _figure(data, tests, options, dots=True)
    for axis, panel in zip(axes, lines, strict=True):
        axis.set_xticks(range(len(offsets)), list(map(str, offsets)))
        axis.set_xlabel("position offset (positions)")
        levels = _chance(data, panel)
        training_lengths = data.variants.loc[_names(panel), "max_length"]
        is_at_end = levels["length"].isin(training_lengths)
        for level in levels.loc[is_at_end, "value"]:
            axis.axhline(level, **drawing.GUIDE, linestyle="--", zorder=1)
    title = f"{data.metric_label.capitalize()} at the training length against position offset"
    _finish(figure, axes, data, lines, title, marks=((_CHANCE, "--"),), dots=True)
    return figure


def training(data: StudyData, options: Options) -> "Figure | None":
    """Validation exact match during training, or the loss if exact match was not measured.

    Exact match is of the longest trained length that was measured.
    """
    is_loss = not data.is_share
    metric = "loss" if is_loss else "exact_match"
    curves = data.curves[data.curves["metric"] == metric]
    if not is_loss:
        curves = curves[curves["length"] <= curves["max_length"]]
        longest = curves.groupby("variant")["length"].transform("max")
        curves = curves[curves["length"] == longest]
    if curves.empty:
        return None
    curves = curves.rename(columns={"step": "x"})
    figure, axes, lines = _figure(data, curves, options)
    for axis in axes:
        axis.set_xlabel("training step")
    title = "Training loss" if is_loss else "Validation exact match during training"
    _finish(figure, axes, data, lines, title, is_loss=is_loss)
    return figure


def learning_rate(data: StudyData) -> "Figure | None":
    """Exact match within and beyond training against the learning rate, if rates vary."""
    if data.rates.empty:
        return None
    # The rate is tuned here even if the study compares rates, so the names are others.
    names = list(data.rates["variant"].unique())
    looks = styles.assign([names[:MOST_LINES]])
    point = data.results.spec.extrapolation.point
    columns = {"within": "Up to the training length", "beyond": str(point).capitalize()}
    figure, axes = drawing.grid(2, columns=2, height=2.2)
    lines = []
    for axis, (column, title) in zip(axes, columns.items(), strict=True):
        for name in names:
            rates = data.rates[data.rates["variant"] == name]
            values = rates.rename(columns={"rate": "x", column: "value"})
            line = Line(name, styles.words(name), values, looks.get(name))
            drawing.draw_line(axis, line)
            lines.append(line)
            _circle_chosen(axis, values)
        axis.set_title(title)
        axis.set_xscale("log")
        ticks.at_numbers(axis, sorted(data.rates["rate"].unique()))
        axis.set_xlabel("peak learning rate")
        ticks.shares(axis)
    axes[0].set_ylabel("exact match")
    drawing.legend(figure, lines)
    caption = "Circles mark the learning rate with the lowest validation loss."
    drawing.titles(figure, "Exact match against learning rate", caption)
    return figure


def _circle_chosen(axis: "Axes", values: pd.DataFrame) -> None:
    """Put a circle around the center of the chosen learning rate."""
    chosen = values[values["is_chosen"]].dropna(subset="value")
    center = statistics.center(chosen["value"].tolist())
    if center is None:
        return
    axis.plot(
        chosen["x"].iloc[0],
        center.point,
        marker="o",
        markersize=9,
        markerfacecolor="none",
        color="0.2",
        linestyle="none",
    )


def _figure(
    data: StudyData, values: pd.DataFrame, options: Options, *, dots: bool = False
) -> "tuple[Figure, list[Axes], list[list[Line]]]":
    """Return a figure with the lines of each variant that has values, by axes.

    Args:
      values: the columns variant, run_id, x and value.
      dots: draw single seeds as dots. Curves have too many points for them.
    """
    panels: dict[str, list[Line]] = {}
    groups = dict(list(values.groupby("variant", sort=False)))
    for title, names in data.panels.items():
        # A variant without a finished run has no values.
        lines = [data.line(name, groups[name]) for name in names if name in groups]
        if len(data.panels) == 1:
            # A legend for several axes has each name once, and counts differ by task.
            lines = [dataclasses.replace(line, label=_counted(data, line)) for line in lines]
        if lines:
            panels[title] = lines
    columns, height = 2, 1.9
    if len(panels) == 1:
        height = 2.9
    if options.small_panels:
        panels = _one_each(panels)
        columns, height = 4, 1.3
    figure, axes = drawing.grid(len(panels), columns=columns, height=height)
    for axis, (title, lines) in zip(axes, panels.items(), strict=True):
        axis.set_title(textwrap.fill(title, 64 // columns))
        for line in lines:
            drawing.draw_line(axis, line, dots=dots)
    return figure, axes, list(panels.values())


def _one_each(panels: Mapping[str, Sequence[Line]]) -> dict[str, list[Line]]:
    """Return the lines with an axes for each of them."""
    single = {}
    for title, lines in panels.items():
        for line in lines:
            single[f"{title} · {line.label}".removeprefix(" · ")] = [line]
    return single


def _counted(data: StudyData, line: Line) -> str:
    """Return the label of a line with the number of solved runs, unless all runs are solved."""
    variant = data.variants.loc[_names([line])[0]]
    if variant["solved"] == variant["count"]:
        return line.label
    return f"{line.label} ({variant['solved']}/{variant['count']} solved)"


def _names(panel: Sequence[Line]) -> list[str]:
    """Return the variants of the lines of an axes."""
    return [line.values["variant"].iloc[0] for line in panel]


def _mark_training(axis: "Axes", data: StudyData, panel: Sequence[Line], options: Options) -> None:
    lengths = sorted(data.variants.loc[_names(panel), "max_length"].unique())
    if options.relative:
        lengths = [1]
    for length in lengths:
        axis.axvline(length, **drawing.GUIDE, linestyle=":", zorder=1)


def _chance(data: StudyData, panel: Sequence[Line]) -> pd.DataFrame:
    """Return the chance levels of the tasks of an axes."""
    tasks = data.variants.loc[_names(panel), "task"]
    is_of_panel = data.chance["task"].isin(tasks)
    return data.chance[is_of_panel].sort_values("length")


def _draw_chance(axis: "Axes", data: StudyData, panel: Sequence[Line], options: Options) -> None:
    levels = _chance(data, panel)
    if levels.empty:
        return
    lengths = data.variants.loc[_names(panel), "max_length"]
    # Of several training lengths, the shortest gives the widest range of relative lengths.
    divisor = lengths.min() if options.relative else 1
    x = levels["length"] / divisor
    axis.plot(x, levels["value"], **drawing.GUIDE, linestyle="--", zorder=1.2)


def _finish(
    figure: "Figure",
    axes: Sequence["Axes"],
    data: StudyData,
    lines: Sequence[Sequence[Line]],
    title: str,
    *,
    marks: Sequence[tuple[str, str]] = (),
    is_loss: bool = False,
    dots: bool = False,
) -> None:
    """Set the vertical axis, legend, title and caption of a figure."""
    all_lines = list(itertools.chain(*lines))
    vertical = "training loss (nats per token)" if is_loss else data.metric_label
    for axis in axes:
        if is_loss:
            axis.set_yscale("log")
        elif data.is_share:
            ticks.shares(axis)
        # The axes of a row share the vertical one.
        place = axis.get_subplotspec()
        if place is not None and place.is_first_col():
            axis.set_ylabel(vertical)
    handles = [drawing.guide(label, linestyle) for label, linestyle in marks]
    if data.variants.loc[_names(all_lines), "reveals"].any():
        handles.append(drawing.note(REVEALS))
    drawing.legend(figure, all_lines, handles)
    drawing.titles(figure, title, _caption(data, all_lines, dots=dots))


def _caption(data: StudyData, lines: Sequence[Line], *, dots: bool) -> str:
    finished = data.variants.loc[_names(lines), "finished"]
    has_many = finished >= statistics.BOOTSTRAP_FROM
    centers = []
    if not has_many.all():
        centers.append("median")
    if has_many.any():
        centers.append("interquartile mean")
    parts = [f"Thick lines: {' or '.join(centers)} over seeds"]
    if (finished < statistics.EXACT_FROM).any():
        parts.append("thin lines: single seeds")
    if (finished >= statistics.EXACT_FROM).any():
        parts.append("bands: 95 % intervals")
        if dots:
            parts.append("dots: single seeds")
    if any(not line.is_solved for line in lines):
        parts.append("hollow marks: no seed solved the training lengths")
    if any(line.style is None for line in lines):
        parts.append(f"colors: the {len(data.looks)} best on average")
    return "; ".join(parts) + "."
