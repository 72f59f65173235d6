"""Picture of the share of runs that have been solved, and extrapolate, by training step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results import kaplan_meier, measured
from pe_lab.results.plots import drawing
from pe_lab.results.plots.drawing import Line
from pe_lab.results.plots.study_data import REVEALS, StudyData
from pe_lab.results.plots.styles import GRAY, Style
from pe_lab.results.results import Variant
from pe_lab.runs.analysis_spec import MetricSpec
from pe_lab.runs.first_steps import FirstStep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"steps_to_solve": "Solved", "steps_to_extrapolate": "At the threshold of extrapolation"}
_APART = 0.006  # between two lines, as a share of each axis
_GRAY = Style(GRAY, "")


def steps_to_solve(data: StudyData) -> "Figure | None":
    """One step curve for each variant, by Kaplan and Meier. None without curves."""
    by_name = {variant.name: variant for variant in data.results.variants}
    trained = {
        title: [by_name[name] for name in names if by_name[name].override is None]
        for title, names in data.panels.items()
    }
    panels = []
    for title, variants in trained.items():
        for metric, words in _TITLES.items():
            times = {variant.name: _times(variant, metric) for variant in variants}
            if any(times.values()):
                panels.append((f"{title}, {words}".removeprefix(", "), times))
    if not panels:
        return None
    figure, axes = drawing.grid(len(panels), columns=2, height=2.4)
    lines: list[Line] = []
    for axis, (title, times) in zip(axes, panels, strict=True):
        measured_names = [name for name, of_runs in times.items() if of_runs]
        for row, name in enumerate(measured_names):
            line = _line(data, name, times[name])
            # Lines with equal shares would hide each other.
            shift = _APART * (row - (len(measured_names) - 1) / 2)
            _draw(axis, line, times[name], shift)
            lines.append(line)
        axis.set_title(title)
        axis.set_xlabel("training step")
        drawing.share_axis(axis)
        axis.set_ylim(-0.08, 1.08)
    axes[0].set_ylabel("share of runs")
    revealing = data.variants.loc[[name for _, times in panels for name in times], "reveals"]
    drawing.legend(figure, lines, [drawing.note(REVEALS)] if revealing.any() else [])
    extrapolation = data.results.spec.extrapolation
    caption = (
        "Kaplan–Meier estimates, shifted slightly apart; in parentheses: seeds. Vertical bars: the "
        "last measured step of runs that never got there. Threshold of extrapolation: exact match "
        f"{extrapolation.threshold:g} {extrapolation.point}."
    )
    drawing.titles(figure, "Share of runs against training steps", caption)
    return figure


def _times(variant: Variant, metric: str) -> list[FirstStep]:
    values = [measured.value(run, MetricSpec(metric)) for run in variant.measured]
    return [value for value in values if isinstance(value, FirstStep)]


def _line(data: StudyData, name: str, times: Sequence[FirstStep]) -> Line:
    variant = data.variants.loc[name]
    estimate = kaplan_meier.reached(times)
    # No run has reached it at step 0, unless the estimate says so.
    steps, shares = [0, *estimate.steps], [0.0, *estimate.shares]
    values = pd.DataFrame({"x": steps, "value": shares})
    label = f"{variant['label']} ({len(times)})"
    return Line(variant["key"], label, values, data.looks.get(variant["key"]))


def _draw(axis: "Axes", line: Line, times: Sequence[FirstStep], shift: float) -> None:
    style = line.style or _GRAY
    steps = line.values["x"] + shift * line.values["x"].max()
    shares = line.values["value"] - shift
    axis.plot(
        steps,
        shares,
        drawstyle="steps-post",
        color=style.color,
        linestyle=style.linestyle,
        linewidth=0.7 if line.style is None else 1.6,
        marker="" if line.style is None else style.marker,
    )
    is_censored = line.values["x"].isin({time.step for time in times if not time.reached})
    axis.plot(steps[is_censored], shares[is_censored], "|", color=style.color, markersize=9)
