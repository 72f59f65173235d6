"""Pictures of the variants of a study: one axes for each task, one color for each variant."""

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results import metrics, statistics
from pe_lab.results.plots import drawing, styles
from pe_lab.results.plots.lines import lines
from pe_lab.results.plots.plotted import HIGHLIGHTED, REVEALS, Plotted
from pe_lab.results.plots.plotted import tests as tests_of
from pe_lab.results.study import EVALUATED_WITH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TRAINING_END, _CHANCE = "training length", "chance level"
_FEWEST = 3  # lines of an axes of its own for an evaluation override


def by_length(data: Plotted, *, relative: bool = False) -> "Figure | None":
    """The metric against length, without a position offset.

    Args:
      relative: lengths are multiples of the training length, on a log axis.
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
    is_log = relative or data.study.is_of_text
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
        drawing.length_ticks(axes, numbers, "×" if relative else "", is_log=is_log)
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
            axes.set_yscale("log")
    title, label = "Validation exact match during training", _metric(data)
    if is_loss:
        title, label = "Training loss", "training loss (nats per token)"
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
        axes.set_yscale("log")
    _finish(
        figure, data, panels, "Validation loss", f"validation loss (bits per {data.study.symbol})"
    )
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
    panels = {title: [n for n in names if n in measured] for title, names in data.panels.items()}
    panels = {title: names for title, names in panels.items() if names}
    labels, keys = data.labels, data.keys
    if len(panels) == 1:
        (names,) = panels.values()
        # A legend for several tasks has each name once, and counts differ by task.
        labels = {keys[name]: _counted(data, name) for name in names}
        by_override = _by_override(data, names)
        if len(by_override) > 1:
            panels = by_override
            # The title has the override.
            override = f", {EVALUATED_WITH} "
            keys = {name: keys[name].partition(override)[0] for name in names}
    values = values.assign(key=values["variant"].map(keys))
    figure, grid = drawing.grid(len(panels), columns=2, height=1.9 if len(panels) > 1 else 2.9)
    for axes, (title, names) in zip(grid, panels.items(), strict=True):
        axes.set_title(textwrap.fill(title, 32))
        unsolved = [n for n in names if data.study.by_name[n]["is_unsolved"]]
        lines(
            values[values["variant"].isin(names)],
            x="x",
            by="key",
            order=[keys[name] for name in names],
            labels=labels,
            looks=data.looks,
            hollow={keys[name] for name in unsolved},
            dots=dots,
            axes=axes,
        )
    return figure, list(zip(grid, panels.values(), strict=True))


def _by_override(data: Plotted, names: Sequence[str]) -> dict[str, list[str]]:
    """Return variants by evaluation override, if one axes for all of them would be crowded."""
    of_override: dict[str, list[str]] = {}
    for name in names:
        override = data.study.by_name[name]["override"]
        title = f"with {styles.words(override)}" if override else "as trained"
        of_override.setdefault(title, []).append(name)
    has_few_lines = len(names) <= HIGHLIGHTED or min(map(len, of_override.values())) < _FEWEST
    return {"": list(names)} if has_few_lines else of_override


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
    if data.study.variants.loc[names, "reveals_target_length"].any():
        handles.append(drawing.guide(REVEALS, "none"))  # a sentence without a mark
    drawing.legend(figure, handles)
    drawing.titles(figure, title, _caption(data, names, dots=dots))


def _caption(data: Plotted, names: Sequence[str], *, dots: bool) -> str:
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
    if variants["is_unsolved"].any():
        parts.append("hollow marks: no seed solved the training lengths")
    if any(data.keys[name] not in data.looks for name in names):
        parts.append(f"colors: the {len(data.looks)} best on average")
    return "; ".join(parts) + "."
