"""Pictures of the guide that need no training: digits, the scale of logits, gradient norms."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pe_lab.contrib.inspection import panels, table_statistics
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.results.plots import drawing, styles

_NUM_POSITIONS = 32
_NUM_DIGITS = 5  # bits that change within these positions, and as many sines
_DPI = 110
_SCALES = {True: "divided by √d", False: "not divided"}
_MEASURES = {
    "variance": "variance of scores",
    "entropy": "entropy of weights / uniform",
    "jacobian": "norm of the derivative of softmax",
    "gradient": "gradient norm of Q and K",
}


def draw(record: Mapping[str, object], folder: Path) -> None:
    """Draw the pictures of a record of docs/build/initialization.py."""
    figures = {
        "digits": digits,
        "logit_scale": lambda: logit_scale(pd.DataFrame(record["logits"])),
        "gradient_norms": lambda: gradient_norms(pd.DataFrame(record["gradients"])),
    }
    for name, figure in figures.items():
        with drawing.settings():
            drawing.save(figure(), [folder / f"{name}.png"], dpi=_DPI)


def digits() -> Any:
    """Bits and sines of the same positions, and the distances between neighboring positions."""
    bits = UntrainedEncoding({"name": "binary"}).table(_NUM_POSITIONS)[:, :_NUM_DIGITS]
    sines = UntrainedEncoding(  # sine k turns half as fast as sine k - 1, as a bit does
        {"name": "multi_sine", "base": 2.0**_NUM_DIGITS}, width=_NUM_DIGITS, num_heads=1
    ).table(_NUM_POSITIONS)
    figure, axes = drawing.pyplot().subplots(
        1, 3, figsize=(drawing.WIDTH, 2.5), layout="constrained", width_ratios=(1, 1, 1.6)
    )
    for axis, table, title in zip(axes, (bits, sines), ("bits", "sines"), strict=False):
        axis.imshow(table, aspect="auto", cmap=panels.MAP, vmin=-1, vmax=1, interpolation="nearest")
        axis.grid(visible=False)
        axis.set(title=title, xlabel="digit, fastest first", ylabel="position")
        axis.set_xticks(range(_NUM_DIGITS))
    for label, table, color, marker in (
        ("bits", bits, styles.PALETTE[1], "s"),
        ("sines", sines, styles.PALETTE[0], "o"),
    ):
        steps = table_statistics.steps(table)
        axes[2].plot(steps, color=color, marker=marker, markersize=3, linewidth=1, label=label)
    axes[2].set(xlabel="position t", ylabel="distance of t and t + 1", ylim=(0, 2.8))
    axes[2].legend(loc="upper right", ncols=2)
    axes[2].set_title("distance between neighbors")
    return figure


def logit_scale(rows: pd.DataFrame) -> Any:
    """The measures against the head width, with and without the division: all seeds."""
    figure, axes = drawing.pyplot().subplots(2, 2, figsize=(drawing.WIDTH, 4), layout="constrained")
    for axis, (measure, title) in zip(axes.flat, _MEASURES.items(), strict=True):
        for is_scaled, label in _SCALES.items():
            of_scale = rows[rows["scale_logits"] == is_scaled]
            style = {"color": styles.PALETTE[not is_scaled], "marker": "os"[not is_scaled]}
            _seeds(axis, of_scale, "head_width", measure, label=label, style=style)
        axis.set(title=title, xlabel="head width d", xscale="log")
        drawing.ticks_at(axis, sorted(set(rows["head_width"])))
    for axis in (axes[0, 0], axes[1, 1]):
        axis.set_yscale("log")
    axes[0, 1].set_ylim(0, 1.05)
    axes[1, 0].set_ylim(0, 0.4)
    axes[0, 0].legend(loc="upper left")
    return figure


def gradient_norms(rows: pd.DataFrame) -> Any:
    """The norm of the gradient against the length, for each encoding: all seeds."""
    figure, axis = drawing.pyplot().subplots(figsize=(4.2, 2.6), layout="constrained")
    for index, name in enumerate(rows["encoding"].unique()):
        of_encoding = rows[rows["encoding"] == name]
        style = {"color": styles.PALETTE[index], "marker": "os^"[index]}
        _seeds(axis, of_encoding, "length", "norm", label=name, style=style)
    axis.set(xlabel="length", ylabel="gradient norm", xscale="log", ylim=(0, None))
    drawing.ticks_at(axis, sorted(set(rows["length"])))
    axis.legend(loc="upper right")
    return figure


def _seeds(
    axis: Any, rows: pd.DataFrame, x: str, y: str, *, label: str, style: Mapping[str, str]
) -> None:
    """A line through the medians of a column, and a dot for each seed."""
    medians = rows.groupby(x)[y].median()
    axis.plot(medians.index, medians, color=style["color"], linewidth=1, label=label)
    axis.plot(rows[x], rows[y], linestyle="", markersize=3, **style)
