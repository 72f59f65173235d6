"""Shared parts of the sections: their text, their tables, and the style of their pictures."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pe_lab.contrib.inspection.trained.findings import HeadAttention, HeadTerms, State
from pe_lab.results.formats import DASH
from pe_lab.results.plots import drawing

TERM_NAMES = {
    "cc": "content × content",
    "cp": "content × position",
    "pc": "position × content",
    "pp": "position × position",
}
TERM_COLORS = {"cc": "#0a6da0", "cp": "#7cc4ea", "pc": "#f2a488", "pp": "#ce0827"}
LayerRow = TypeVar("LayerRow", HeadTerms, HeadAttention)
LINES = (  # color and marker
    ("#0a6da0", "o"),
    ("#ce0827", "s"),
    ("#447303", "^"),
    ("#bd04a3", "D"),
    ("#733af9", "v"),
    ("#6b6b6b", "P"),
)


@dataclasses.dataclass(frozen=True)
class Section:
    """One section of the report.

    Attributes:
      measured: the quantity and the examples.
      reading: how to read the picture and the table.
      this_run: what the numbers of this run are; empty without a summary.
      limits: conclusions that the section does not allow.
      pictures: stem of the file -> a function that draws the figure.
      table: in Markdown; empty without one.
    """

    title: str
    measured: str
    reading: str
    this_run: str
    limits: str
    pictures: Mapping[str, Callable[[], Figure]]
    table: str = ""

    def markdown(self) -> str:
        images = [f"![{self.title}]({stem}.png)" for stem in self.pictures]
        parts = [
            f"## {self.title}",
            f"**Measurement.** {self.measured}",
            *images,
            f"**How to read it.** {self.reading}",
            f"**This run.** {self.this_run}" if self.this_run else "",
            f"**Limits.** {self.limits}",
            self.table,
        ]
        return "\n\n".join(part for part in parts if part)


def number(value: float | int | None) -> str:
    if value is None:
        return DASH
    if isinstance(value, int):
        return str(value)
    return f"{value:.2f}"


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of the known values; None without one."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return sum(known) / len(known)


def state_cells(state: State) -> tuple[str, str]:
    return state.when, str(state.length)


def layer_name(row: HeadTerms | HeadAttention) -> str:
    """Name of the layer in tables."""
    return f"{row.attention} {row.layer}"


def by_layer(rows: Iterable[LayerRow]) -> dict[tuple[str, int], list[LayerRow]]:
    """The rows of each layer, by the name of its attention and its number."""
    layers: dict[tuple[str, int], list[LayerRow]] = {}
    for row in rows:
        place = (row.attention, row.layer)
        layers.setdefault(place, []).append(row)
    return layers


def enumeration(items: Sequence[str]) -> str:
    """a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def grid(
    rows: int, columns: int, size: tuple[float, float], **options: object
) -> tuple[Figure, np.ndarray]:
    """A figure and its axes, [rows][columns]."""
    options = {"layout": "constrained", **options}
    return drawing.pyplot().subplots(rows, columns, figsize=size, squeeze=False, **options)


def legend_entries(axes: Iterable[Axes]) -> dict[str, Artist]:
    """Label -> handle of all axes, each label once."""
    entries: dict[str, Artist] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    return entries
