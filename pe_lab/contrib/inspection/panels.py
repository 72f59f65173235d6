"""Shared parts of the panels in an encoding's picture."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from pe_lab.contrib.inspection import similarity
from pe_lab.contrib.inspection.scorecard import PROPERTIES, Row
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.results.plots import styles

SUFFIXES = (".png", ".pdf")  # files of each picture
MAP = "RdBu_r"  # for numbers around 0: blue is negative, red is positive
_DECAYS = next(p for p in PROPERTIES if p.name == "decays")


def color(encoding: UntrainedEncoding) -> str:
    return styles.PALETTE[0]


def plot_heads(axis: Axes, lines: Float[np.ndarray, "h s"]) -> None:
    """One line per head, in a color and with dashes of its own."""
    for head, line in enumerate(lines):
        look = head_look(head)
        dashes = styles.DASHES[head % len(styles.DASHES)] or (None, None)
        marker = "." if len(line) < 3 else None
        axis.plot(line, dashes=dashes, marker=marker, **look)


def head_look(head: int) -> dict[str, Any]:
    """Color and label of a head."""
    return dict(color=styles.PALETTE[head % len(styles.PALETTE)], label=f"head {head + 1}")


def heads_differ(by_head: Float[np.ndarray, "h s"]) -> bool:
    """Whether curves of heads can be told apart in a picture, and differ by more than rounding."""
    least = max(0.02 * np.ptp(by_head), 1e-4 * np.abs(by_head).max())
    return bool(np.ptp(by_head, axis=0).max() > least)


def plot_by_head(axis: Axes, by_head: Float[np.ndarray, "h s"]) -> None:
    """One line per head, or one line if all heads have the same."""
    if heads_differ(by_head):
        plot_heads(axis, by_head)
    else:
        axis.plot(by_head.mean(axis=0), color=styles.PALETTE[0])


def add_colorbar(axis: Axes, image: AxesImage) -> None:
    axis.figure.colorbar(image, ax=axis, fraction=0.046, pad=0.02)
    axis.grid(visible=False)


def mark_length(axis: Axes, encoding: UntrainedEncoding) -> None:
    axis.axvline(encoding.length, color="black", linestyle="--", linewidth=1)


def mark_end_of_decay(axis: Axes, curve: Float[np.ndarray, "l"]) -> None:
    """A dotted line at the last distance before similarity first rises."""
    stop = similarity.first_increase(curve)
    if stop is not None:
        axis.axvline(stop - 1, color="0.4", linewidth=1, linestyle=":")


def whole_ticks(axis: Axes, count: int, first: int = 0) -> None:
    axis.set_xticks(range(first, first + count, max(1, count // 8)))


def decay_sentence(row: Row) -> str:
    """How often similarity falls with distance."""
    share = row.numbers["nearer is more similar"]
    stop = row.numbers["decay stops at"]
    if share is None:
        return "Similarity is the same at every distance."
    text = f"The nearer of two keys is more similar in {share:.0%} of comparisons"
    if stop is not None and share >= 2 / 3:
        text += f"; similarity first rises at distance {stop:.0f} (dotted)"
    if not _DECAYS.verdict(row.numbers):
        amount = "little" if share > 0.5 else "no"
        text += f", {amount} more than chance (50%)"
    return text + "."


def unique_sentence(row: Row) -> str:
    """How many positions or distances are equal."""
    count = row.numbers["colliding pairs"] or 0
    rows = "positions" if row.kind == "embedding" else "distances"
    if not count:
        return f"All {rows} differ."
    if count == 1:
        return f"1 pair of {rows} is equal."
    return f"{count:,.0f} pairs of {rows} are equal."
