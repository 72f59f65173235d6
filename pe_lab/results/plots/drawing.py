"""Figures of a size for print, the lines in them, and files that are the same every time."""

import contextlib
import io
import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pe_lab.results.plots import literal
from pe_lab.runs.errors import UserError
from pe_lab.runs.settings.declarations import check_keys
from pe_lab.runs.system import files

if TYPE_CHECKING:
    from types import ModuleType

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GUIDE: dict[str, Any] = {"color": "0.35", "linewidth": 0.9}  # thin lines that are no variant
_DPI = 200  # of a file
WIDTH = 6.8  # inches: two columns of a page. No text is smaller than 7 points at this width.
_SETTINGS = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "figure.labelsize": 8,
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
    "pdf.fonttype": 42,  # TrueType: some journals refuse Type 3
    "svg.hashsalt": "pe_lab",  # ids in an SVG are random otherwise
    "hatch.linewidth": 0.5,
}
# Without a date, the same records give the same bytes.
_METADATA: Mapping[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}
FORMATS = tuple(suffix.removeprefix(".") for suffix in _METADATA)


def check_formats(names: Collection[str]) -> None:
    """Raise a UserError if there is no name, or one that is not one of FORMATS."""
    if not names:
        raise UserError(f"The plots need a format, such as {FORMATS[0]}.")
    check_keys("formats", names, FORMATS)


_NOTEBOOK_BACKENDS = ("inline", "ipympl", "widget")
_LABEL_WIDTH = 30  # characters of a line of the legend
_MOST_TICKS = 9
_OVER_AXES = 1.12  # width of a title, in widths of its axes: there are gaps between axes
_LETTERS = 80  # of a tick label that fit below the axes of a figure, side by side


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


def new_axes() -> "Axes":
    """Return the axes of a new figure."""
    axes: Axes
    _, axes = pyplot().subplots(layout="constrained")
    return axes


def settings() -> contextlib.AbstractContextManager[None]:
    """Return the context in which every figure is drawn and saved."""
    context: contextlib.AbstractContextManager[None] = pyplot().rc_context(_SETTINGS)
    return context


def save(
    figure: "Figure", paths: Sequence[Path], dpi: int = _DPI, *, few_colors: bool = False
) -> None:
    """Write a figure to files and close it. The same records give the same bytes.

    Args:
      few_colors: store PNGs with 256 colors, which takes a third of the space.
    """
    _lay_out(figure)
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
    _lay_out(figure)
    content = io.BytesIO()
    # The outlines of letters would be most of the file.
    with pyplot().rc_context({"svg.fonttype": "none"}):
        figure.savefig(content, format="svg", metadata=_METADATA[".svg"])
    pyplot().close(figure)
    return content.getvalue()


def _lay_out(figure: "Figure") -> None:
    """Place everything in a figure, with titles and labels about as wide as their axes."""
    literal.apply(figure)
    layout = figure.get_layout_engine()
    if layout is None:
        return
    layout.execute(figure)
    is_wrapped = False
    for axes in figure.axes:
        for text in (axes.title, axes.xaxis.label):
            lines = text.get_text().split("\n")
            room = _OVER_AXES * axes.get_window_extent().width
            share = text.get_window_extent().width / room
            if share > 1:
                most = max(1, int(max(map(len, lines)) / share))
                text.set_text("\n".join(textwrap.fill(line, most) for line in lines))
                is_wrapped = True
    if is_wrapped:
        layout.execute(figure)
    figure.set_layout_engine("none")  # once is enough for all files


def _with_few_colors(png: io.BytesIO) -> io.BytesIO:
    """Return a PNG with 256 colors."""
    from PIL import Image

    with Image.open(png) as picture:
        # Dithering would make dots of plain areas.
        reduced = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    content = io.BytesIO()
    reduced.save(content, format="png", optimize=True)
    return content


def grid(
    count: int, *, columns: int, height: float, sharex: bool = False, sharey: bool = True
) -> "tuple[Figure, list[Axes]]":
    """Return a figure with this number of axes, each of this height in inches."""
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    figure, axes = pyplot().subplots(
        rows,
        columns,
        figsize=(WIDTH, height * rows + 0.6),
        squeeze=False,
        layout="constrained",
        sharex=sharex,
        sharey=sharey,
    )
    for index in range(count, rows * columns):
        axes.flat[index].axis("off")
        # With a shared axis, only the last row has labels at its ticks.
        axes.flat[index - columns].tick_params(labelbottom=True)
    return figure, list(axes.flat[:count])


def shares(axes: "Axes", lowest: float = 0.0, highest: float = 1.0) -> None:
    """Show shares from 0 to 1 on the vertical axis, and further if there are such values."""
    axes.set_ylim(min(0.0, lowest) - 0.04, max(1.0, highest) + 0.04)
    if lowest >= 0 and highest <= 1:
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])


def ticks_at(axes: "Axes", numbers: Iterable[int | float], unit: str = "") -> None:
    """Set ticks at some of the numbers: the ends, and between them those whose labels fit.

    Numbers that double have a log axis, on which each doubling has the same width.
    """
    from matplotlib import ticker

    ordered = sorted(set(numbers))
    if 0 < 2 * ordered[0] <= ordered[-1]:
        axes.set_xscale("log", base=2)
    places = axes.xaxis.get_transform().transform(np.array(ordered, float))
    widths = [len(_tick(number, unit)) + 2 for number in ordered]  # in letters, with a gap
    grid = axes.get_gridspec()
    letter = (places[-1] - places[0]) * (grid.ncols if grid else 1) / _LETTERS
    least = (places[-1] - places[0]) / _MOST_TICKS

    def fit(i: int, j: int) -> bool:
        return bool(places[j] - places[i] >= max(least, letter * (widths[i] + widths[j]) / 2))

    indices, last = [0], len(ordered) - 1
    for index in range(1, last):
        if fit(indices[-1], index) and fit(index, last):
            indices.append(index)
    ticks = [ordered[index] for index in dict.fromkeys([*indices, last])]
    axes.xaxis.set_major_locator(ticker.FixedLocator(ticks))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _tick(float(value), unit)))
    axes.minorticks_off()


def log_if_wide(axes: "Axes", values: "pd.Series[float]") -> None:
    """Show values on a log axis if they span a decade; ticks in a part of one have long names."""
    if 0 < 10 * values.min() <= values.max():
        axes.set_yscale("log")


def _tick(number: int | float, unit: str) -> str:
    return f"{number:.4g}{unit}" if unit else f"{number:g}"


def legend(figure: "Figure", more: "Sequence[Artist]" = ()) -> None:
    """Name the lines of all axes, and further marks, on the right of a figure.

    A name is listed once. Where it has filled marks in some axes, it has them in the legend.
    """
    handles: dict[str, Artist] = {}
    for axes in figure.axes:
        line: Any
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if label not in handles or line.get_markerfacecolor() != "white":
                handles[label] = line
    entries = list(handles.values())
    labels = [textwrap.fill(text, _LABEL_WIDTH, subsequent_indent="  ") for text in handles]
    entries += more
    labels += [str(artist.get_label()) for artist in more]
    num_lines = sum(label.count("\n") + 1 for label in labels)
    # A figure is at least as high as its legend, with room for the caption.
    width, height = figure.get_size_inches()
    # Letters are whole pixels wide, so another resolution has another width of the legend.
    figure.set_dpi(_DPI)
    figure.set_size_inches(width, max(height, 0.155 * num_lines + 0.5))  # inches
    figure.legend(entries, labels, loc="outside right upper")


def guide(label: str, linestyle: str) -> "Artist":
    """Return the legend's handle of a thin gray line that is no variant."""
    line: Artist = pyplot().Line2D([], [], **GUIDE, linestyle=linestyle, label=label)
    return line


def _is_below(other: "Axes", axes: "Axes") -> bool:
    """Return whether one of two axes is in a later row of the same column, and not empty."""
    place, other_place = axes.get_subplotspec(), other.get_subplotspec()
    if place is None or other_place is None or not other.axison:
        return False
    is_later = other_place.rowspan.start > place.rowspan.start
    return is_later and other_place.colspan.start == place.colspan.start


def titles(figure: "Figure", title: str, caption: str = "") -> None:
    """Set the title of a figure, and a sentence below it. Axes with one label have it once."""
    for axes in figure.axes:
        below = [other for other in figure.axes if _is_below(other, axes)]
        if below and all(other.get_xlabel() == axes.get_xlabel() for other in below):
            axes.set_xlabel("")
    figure.suptitle(textwrap.fill(title, 90), x=0.01, ha="left", weight="bold")
    if caption:
        text = textwrap.fill(caption, 110)
        figure.supxlabel(text, x=0.01, ha="left", fontsize=7, color="0.3")
