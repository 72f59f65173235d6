"""Picture of the share of runs that have been solved, and extrapolate, by training step."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pe_lab.results import kaplan_meier, measured
from pe_lab.results.plots import drawing, ticks
from pe_lab.results.plots.drawing import Line
from pe_lab.results.plots.study_data import REVEALS, StudyData
from pe_lab.results.plots.styles import GRAY, Style
from pe_lab.results.results import Variant
from pe_lab.runs.analysis_spec import MetricSpec
from pe_lab.runs.first_steps import FirstStep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"steps_to_solve": "solved", "steps_to_extrapolate": "extrapolates"}
_APART = 0.006  # between two lines, as a share of each axis
_GRAY = Style(GRAY, "")


def steps_to_solve(data: StudyData) -> "Figure | None":
    """One step curve for each variant, by Kaplan and Meier. None without curves, or for a text."""
    panels = []
    for title, names in data.panels.items():
        named = [variant for variant in data.results.trained if variant.name in names]
        trained = [variant for variant in named if not variant.has_text]
        for metric, words in _TITLES.items():
            times = {variant.name: _times(variant, metric) for variant in trained}
            if any(times.values()):
                panels.append((f"{title}: {words}".removeprefix(": "), times))
    if not panels:
        return None
    figure, axes = drawing.grid(len(panels), columns=2, height=2.4)
    lines: list[Line] = []
    for axis, (title, times) in zip(axes, panels, strict=True):
        lines += _draw_panel(axis, data, times)
        axis.set_title(title)
        axis.set_xlabel("training step")
        ticks.shares(axis)
        axis.set_ylim(-0.02, 1.02)
    axes[0].set_ylabel("share of runs")
    names = list(itertools.chain(*(times for _, times in panels)))
    handles = []
    if data.variants.loc[names, "reveals"].any():
        handles.append(drawing.note(REVEALS))
    drawing.legend(figure, lines, handles)
    extrapolation = data.results.spec.extrapolation
    caption = (
        "Kaplan–Meier estimates, shifted slightly up and to the right; in parentheses: seeds. "
        "Vertical bars: the last measured step of runs that never got there. Extrapolates: an "
        "exact match of "
        f"{extrapolation.threshold:g} {extrapolation.point}."
    )
    drawing.titles(figure, "Share of runs against training steps", caption)
    return figure


def _draw_panel(axis: "Axes", data: StudyData, times: dict[str, list[FirstStep]]) -> list[Line]:
    """Draw the variants that have a time. Return their lines."""
    with_times = [name for name, of_runs in times.items() if of_runs]
    largest = _APART * (len(with_times) - 1)
    lines = []
    for row, name in enumerate(with_times):
        line = _line(data, name, times[name])
        # Lines with equal shares would hide each other.
        _draw(axis, line, times[name], shift=_APART * row, largest=largest)
        lines.append(line)
    return lines


def _times(variant: Variant, metric: str) -> list[FirstStep]:
    values = measured.values(variant.measured, MetricSpec(metric))
    return [value for value in values if isinstance(value, FirstStep)]


def _line(data: StudyData, name: str, times: Sequence[FirstStep]) -> Line:
    estimate = kaplan_meier.reached(times)
    # No run has reached it at step 0, unless the estimate says so.
    steps = [0, *estimate.steps]
    shares = [0.0, *estimate.shares]
    line = data.line(name, pd.DataFrame({"x": steps, "value": shares}))
    # Markers are not hollow here: the curve itself says how many runs are solved.
    return dataclasses.replace(line, label=f"{line.label} ({len(times)})", is_solved=True)


def _draw(
    axis: "Axes", line: Line, times: Sequence[FirstStep], *, shift: float, largest: float
) -> None:
    """Draw a line that is shifted up and to the right.

    Args:
      shift: of this line, as a share of each axis.
      largest: shift of any line. Shares are scaled by 1 - largest, so that none is above 1.
    """
    style = line.style or _GRAY
    width = line.values["x"].max()
    steps = line.values["x"] + shift * width
    shares = line.values["value"] * (1 - largest) + shift
    axis.plot(
        steps,
        shares,
        drawstyle="steps-post",
        color=style.color,
        linestyle=style.linestyle,
        linewidth=0.7 if line.style is None else 1.6,
        marker="" if line.style is None else style.marker,
    )
    censored_at = {time.step for time in times if not time.reached}
    is_censored = line.values["x"].isin(censored_at)
    axis.plot(steps[is_censored], shares[is_censored], "|", color=style.color, markersize=9)
