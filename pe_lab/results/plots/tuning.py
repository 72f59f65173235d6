"""Picture of a tuning: validation loss against each tuned setting, with the choice."""

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from pe_lab.results import selection
from pe_lab.results.grids import as_numbers
from pe_lab.results.plots import drawing, styles, ticks
from pe_lab.results.plots.drawing import Line
from pe_lab.results.plots.study_data import StudyData
from pe_lab.results.plots.styles import GRAY, Style
from pe_lab.results.results import Variant

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRAY = Style(GRAY, "o")
_CHOSEN, _AT_EDGE = "o", "D"  # rings around the mark of a choice
_LEAST_LOSS = 1e-8  # nats per token, below the resolution of float32
_CAPTION = (
    "Mean validation loss over the seeds that all settings have. Hollow marks: another number of "
    "seeds is solved than with the choice. A setting without a mark has a run that diverged, or "
    f"none that finished. A loss below {_LEAST_LOSS:g} is drawn there."
)


def scores(data: StudyData) -> "Figure | None":
    """One line for each variant that was tuned. None without such variants."""
    variants = [variant for variant in data.results.variants if len(variant.candidates) > 1]
    # Losses of different seeds are not compared.
    compared = [v for v in variants if selection.shared_seeds(v.candidates)]
    panels = []
    for path in data.results.spec.tuned:
        for title, names in data.panels.items():
            tuned = [variant for variant in compared if variant.name in names]
            if tuned:
                panels.append((title, path, tuned))
    if not panels:
        return None
    figure, axes = drawing.grid(len(panels), columns=2, height=2.4)
    lines = []
    for axis, (title, path, tuned) in zip(axes, panels, strict=True):
        axis.set_title(title)
        lines += _draw_panel(axis, data, path, tuned)
    axes[0].set_ylabel("validation loss (nats per token)")
    handles = [_ring("chosen", _CHOSEN), _ring("chosen, at an edge", _AT_EDGE)]
    drawing.legend(figure, lines, handles)
    caption = _CAPTION
    if len(compared) < len(variants):
        caption += f" Left out: {len(variants) - len(compared)} without such a seed."
    drawing.titles(figure, "Validation loss against the tuned setting", caption)
    return figure


def _draw_panel(axis: "Axes", data: StudyData, path: str, tuned: list[Variant]) -> list[Line]:
    """Draw the losses of variants on one tuned axis of the study."""
    candidates = itertools.chain(*(variant.candidates for variant in tuned))
    labels = list(dict.fromkeys(c.labels.get(path, "") for c in candidates))
    numbers = as_numbers(labels)
    # Labels that are no numbers are drawn at equal distances.
    places = dict(zip(labels, numbers or range(len(labels)), strict=True))
    lines = []
    for variant in tuned:
        values = _losses(data, variant, path)
        values["x"] = values["label"].map(places)
        line = data.line(variant.name, values.sort_values("x"))
        # In the legend, a hollow mark would have another meaning than in the picture.
        line = dataclasses.replace(line, is_solved=True)
        _draw(axis, line, is_at_edge=selection.at_edge(variant, [path]))
        lines.append(line)
    axis.set_xlabel(styles.axis_name(path))
    losses = pd.concat([line.values["value"] for line in lines])
    if losses.max() > 10 * losses.min():  # within a decade, a log axis has no tick labels
        axis.set_yscale("log")
    if numbers is None:
        axis.set_xticks(list(places.values()), list(places))
        return lines
    if min(numbers) > 0:
        axis.set_xscale("log")
    ticks.at_numbers(axis, sorted(set(numbers)))
    return lines


def _losses(data: StudyData, variant: Variant, path: str) -> pd.DataFrame:
    """The losses along one axis, with the choice on all other tuned axes."""
    chosen = selection.chosen_candidate(variant)
    tied = selection.tied(variant)
    others = [axis for axis in data.results.spec.tuned if axis != path]
    choice = [chosen.labels.get(axis) for axis in others]
    rows = []
    for candidate in variant.candidates:
        if [candidate.labels.get(axis) for axis in others] != choice:
            continue
        loss = selection.loss(candidate)
        if math.isfinite(loss):  # infinite: a run diverged
            label = candidate.labels.get(path, "")
            # A log axis has no 0.
            drawn = max(loss, _LEAST_LOSS)
            rows.append((label, drawn, candidate in tied, candidate is chosen))
    return pd.DataFrame(rows, columns=["label", "value", "is_tied", "is_chosen"])


def _draw(axis: "Axes", line: Line, *, is_at_edge: bool) -> None:
    style = line.style or _GRAY
    values = line.values
    axis.plot(values["x"], values["value"], color=style.color, linestyle=style.linestyle)
    for is_tied, group in values.groupby("is_tied"):
        face = style.color if is_tied else "white"
        axis.plot(
            group["x"],
            group["value"],
            linestyle="none",
            color=style.color,
            marker=style.marker,
            markerfacecolor=face,
        )
    chosen = values[values["is_chosen"]]
    ring = _AT_EDGE if is_at_edge else _CHOSEN
    axis.plot(chosen["x"], chosen["value"], **_ring_look(ring))


def _ring_look(marker: str) -> dict[str, Any]:
    return {
        "marker": marker,
        "markersize": 10,
        "markerfacecolor": "none",
        "color": "0.2",
        "linestyle": "none",
    }


def _ring(label: str, marker: str) -> "Artist":
    ring: Artist = drawing.pyplot().Line2D([], [], label=label, **_ring_look(marker))
    return ring
