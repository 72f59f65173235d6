"""Figures of a size for print, the lines in them, and files that are the same every time."""

import contextlib
import io
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pe_lab.results import statistics
from pe_lab.results.plots.styles import GRAY, Style
from pe_lab.runs import files
from pe_lab.runs.errors import unknown

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GUIDE: dict[str, Any] = {"color": "0.35", "linewidth": 0.9}  # thin lines that are no variant
WIDTH = 6.8  # inches: two columns of a page. No text is smaller than 7 points at this width.
SUFFIXES = (".png", ".pdf")  # files of each picture of an inspection
_SETTINGS = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7.5,
    "figure.titlesize": 9,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.92",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "pdf.fonttype": 42,
    "svg.hashsalt": "pe_lab",
    "hatch.linewidth": 0.5,
}
# Without a date, the same records give the same bytes.
_METADATA: Mapping[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}
FORMATS = tuple(suffix.removeprefix(".") for suffix in _METADATA)


def check_formats(names: Iterable[str]) -> None:
    """Raise a UserError if a name is not one of FORMATS."""
    for name in names:
        if name not in FORMATS:
            raise unknown("formats", name, FORMATS)


_NOTEBOOK_BACKENDS = ("inline", "ipympl", "widget")
_LABEL_WIDTH = 30  # characters of a line of the legend


@dataclass(frozen=True)
class Line:
    """One line of a figure.

    Attributes:
      name: the variant, or the row of a table.
      values: the numbers of all seeds: x, run_id, value.
      style: None for a line that is not highlighted.
      is_solved: whether a seed solved the training lengths. Other lines have hollow marks.
      center: the value of the line at each x, drawn with the seeds as dots. None for the center
        of `statistics`.
      hollow: x of the points that no seed solved, if this differs along the line.
    """

    name: str
    label: str
    values: pd.DataFrame
    style: Style | None
    is_solved: bool = True
    center: "pd.Series[float] | None" = None
    hollow: Sequence[float] = ()


def pyplot() -> "ModuleType":
    """Return pyplot, without a screen or as an open notebook shows figures.

    Matplotlib takes two seconds to import, so it is imported when it is needed.
    """
    import matplotlib

    backend = str(matplotlib.get_backend(auto_select=False))
    if not any(name in backend for name in _NOTEBOOK_BACKENDS):
        matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def settings() -> contextlib.AbstractContextManager[None]:
    """Return the context in which every figure is drawn and saved."""
    context: contextlib.AbstractContextManager[None] = pyplot().rc_context(_SETTINGS)
    return context


def save(
    figure: "Figure", paths: Sequence[Path], dpi: int = 200, *, few_colors: bool = False
) -> None:
    """Write a figure to files and close it. The same records give the same bytes.

    Args:
      few_colors: store PNGs with 256 colors, which takes a third of the space.
    """
    layout = figure.get_layout_engine()
    if layout is not None:
        # The layout takes most of the time, and once is enough for all files.
        layout.execute(figure)
        figure.set_layout_engine("none")
    for path in paths:
        content = io.BytesIO()
        suffix = path.suffix.removeprefix(".")
        figure.savefig(content, format=suffix, dpi=dpi, metadata=_METADATA[path.suffix])
        if few_colors and suffix == "png":
            content = _with_few_colors(content)
        files.write_bytes(path, content.getvalue())
    # A notebook would show a figure that stays open a second time.
    pyplot().close(figure)


def as_svg(figure: "Figure") -> bytes:
    """Return the SVG of a figure and close it."""
    content = io.BytesIO()
    # The outlines of letters would be most of the file.
    with pyplot().rc_context({"svg.fonttype": "none"}):
        figure.savefig(content, format="svg", metadata=_METADATA[".svg"])
    pyplot().close(figure)
    return content.getvalue()


def _with_few_colors(png: io.BytesIO) -> io.BytesIO:
    """Return a PNG with 256 colors."""
    from PIL import Image

    with Image.open(png) as picture:
        reduced = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    content = io.BytesIO()
    reduced.save(content, format="png", optimize=True)
    return content


def grid(
    count: int, *, columns: int, height: float, sharey: bool = True
) -> "tuple[Figure, list[Axes]]":
    """Return a figure with this number of axes."""
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    figure, axes = pyplot().subplots(
        rows,
        columns,
        figsize=(WIDTH, height * rows + 0.6),
        squeeze=False,
        layout="constrained",
        sharey=sharey,
    )
    for axis in axes.flat[count:]:
        axis.axis("off")
    return figure, list(axes.flat[:count])


def draw_line(axis: "Axes", line: Line, *, dots: bool = False) -> None:
    """Draw the center of the seeds, and its interval or, of few seeds, each seed.

    Args:
      dots: draw each seed as a dot where there is an interval. Seeds often fall into two groups,
        which no center describes.
    """
    values = line.values.dropna(subset="value")
    center, bands = _centers(values)
    if line.center is not None:
        center = line.center
    if line.style is None:
        axis.plot(center.index, center, color=GRAY, linewidth=0.7, alpha=0.6, zorder=1.5)
        return
    color = line.style.color
    linestyle = line.style.linestyle
    if line.center is not None:
        # The seeds at one x have nothing in common with those at the next.
        axis.plot(values["x"], values["value"], ".", markersize=3, color=color, alpha=0.5)
    elif bands.empty:
        for _, seed in values.groupby("run_id", sort=False):
            path = seed.sort_values("x")
            axis.plot(
                path["x"],
                path["value"],
                color=color,
                linestyle=linestyle,
                linewidth=0.6,
                alpha=0.45,
            )
    else:
        low, high = bands["low"], bands["high"]
        axis.fill_between(bands.index, low, high, color=color, alpha=0.1, linewidth=0)
        if dots:
            axis.plot(values["x"], values["value"], ".", markersize=3, color=color, alpha=0.5)
    axis.plot(
        center.index,
        center,
        color=color,
        marker=line.style.marker,
        markerfacecolor=color if line.is_solved else "white",
        linestyle=linestyle,
        zorder=3,
    )
    if line.hollow:
        hollow = center[center.index.isin(line.hollow)]
        mark = line.style.marker
        axis.plot(hollow.index, hollow, mark, color=color, markerfacecolor="white", zorder=4)


def _centers(values: pd.DataFrame) -> "tuple[pd.Series[float], pd.DataFrame]":
    """Return the center of the seeds by x, and its interval where there are enough seeds."""
    points, bands = {}, {}
    for x, group in values.groupby("x"):
        center = statistics.center(group["value"].tolist())
        if center is None:
            continue
        points[x] = center.point
        if center.interval is not None:
            bands[x] = {"low": center.interval.low, "high": center.interval.high}
    centers = pd.Series(points, dtype=float)
    return centers, pd.DataFrame.from_dict(bands, orient="index")


def legend(figure: "Figure", lines: Sequence[Line], more: "Sequence[Artist]" = ()) -> None:
    """Name the lines, and further marks, on the right of a figure. A name is listed once."""
    line_of = pyplot().Line2D
    # A name may be on several axes, and solved on one of them only.
    handles: dict[str, Artist] = {}
    solved = {line.name for line in lines if line.is_solved}
    for line in lines:
        if line.style is None:
            continue
        handles[line.name] = line_of(
            [],
            [],
            color=line.style.color,
            marker=line.style.marker,
            markerfacecolor=line.style.color if line.name in solved else "white",
            label=textwrap.fill(line.label, _LABEL_WIDTH, subsequent_indent="  "),
            linestyle=line.style.linestyle,
        )
    others = {line.name for line in lines if line.style is None}
    if others:
        label = f"{len(others)} others"
        handles[""] = line_of([], [], color=GRAY, linewidth=0.7, label=label)
    entries = [*handles.values(), *more]
    labels = [str(entry.get_label()) for entry in entries]
    num_lines = sum(label.count("\n") + 1 for label in labels)
    # A figure is at least as high as its legend, with room for the caption.
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, max(height, 0.155 * num_lines + 0.5))
    figure.legend(handles=entries, loc="outside right upper")


def guide(label: str, linestyle: str = "--") -> "Artist":
    """Return the legend's handle of a thin gray line that is no variant."""
    line: Artist = pyplot().Line2D([], [], **GUIDE, linestyle=linestyle, label=label)
    return line


def note(label: str) -> "Artist":
    """Return a legend's handle without a mark."""
    line: Artist = pyplot().Line2D([], [], linestyle="none", label=label)
    return line


def titles(figure: "Figure", title: str, caption: str = "") -> None:
    """Set the title of a figure, and a sentence below it."""
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    if caption:
        text = textwrap.fill(caption, 110)
        figure.supxlabel(text, x=0.01, ha="left", fontsize=7, color="0.3")
