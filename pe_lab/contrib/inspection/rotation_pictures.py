"""Panels and caption of an encoding that rotates queries and keys."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from pe_lab.contrib.inspection import measurements, rotation_angles
from pe_lab.contrib.inspection.panels import (
    MAP,
    add_colorbar,
    color,
    decay_sentence,
    head_look,
    mark_end_of_decay,
    mark_length,
    plot_by_head,
    whole_ticks,
)
from pe_lab.contrib.inspection.scorecard import Row
from pe_lab.contrib.inspection.untrained import UntrainedEncoding

_POSITIONS = 9  # of a pair that turns


def turning_pairs(axis: Axes, encoding: UntrainedEncoding) -> None:
    """The fastest, a middle and the slowest pair at consecutive positions."""
    w, of_head = _first_head(encoding)
    # Pairs that do not turn would all be drawn as one point.
    turning = w[w > 0]
    if not len(turning):
        turning = w
    speeds = turning[[0, len(turning) // 2, -1]]
    circles = zip((1.0, 0.72, 0.44), speeds, ("outer", "middle", "inner"), strict=True)
    for radius, speed, name in circles:
        angle = speed * np.arange(_POSITIONS)
        x = radius * np.cos(angle)
        y = radius * np.sin(angle)
        axis.add_patch(Circle((0, 0), radius, fill=False, color="0.85", linewidth=0.8, zorder=0))
        axis.plot([0, radius], [0, 0], color="0.85", linewidth=0.8, zorder=0)
        axis.scatter(x, y, c=np.arange(_POSITIONS), cmap="viridis", s=24, zorder=2)
        text = f"{name}: {np.degrees(speed):.2g}° per position"
        axis.text(1.25, 2 * radius - 1.44, text, fontsize=7, va="center")
    axis.set_xlim(-1.1, 3.1)
    title = f"{of_head}three pairs of channels, positions 0 to {_POSITIONS - 1}"
    axis.set(title=title, aspect="equal")
    axis.axis("off")


def cosines(axis: Axes, encoding: UntrainedEncoding) -> None:
    """cos(distance * w) of each pair."""
    w, of_head = _first_head(encoding)
    angles = np.arange(encoding.length)[:, None] * w
    image = axis.imshow(
        np.cos(angles), aspect="auto", cmap=MAP, vmin=-1, vmax=1, interpolation="nearest"
    )
    add_colorbar(axis, image)
    title = f"{of_head}cosine of the angle between query and key"
    axis.set(title=title, ylabel="distance (positions)")
    axis.set_xlabel("pair of channels, fastest first")
    every = max(1, len(w) // 8)
    ticks = np.arange(len(w))[::every]
    axis.set_xticks(ticks, ticks + 1)  # pairs are numbered from 1


def periods(axis: Axes, encoding: UntrainedEncoding) -> None:
    """Period of each pair against the length: dots of all heads if they differ."""
    of_heads = _frequencies(encoding)
    w = of_heads[0]
    pair = np.arange(1, len(w) + 1)
    axis.set_yscale("log")
    if _heads_differ(of_heads):
        for head, frequencies in enumerate(of_heads):
            turns = frequencies > 0
            periods = 2 * np.pi / frequencies[turns]
            axis.plot(pair[turns], periods, "o", markersize=3.5, **head_look(head))
        axis.set_xlim(0.4, pair[-1] + 0.6)  # as wide as with bars, so that the label below is in it
    else:
        complete = rotation_angles.completes_period(w, encoding.length)
        turns = w > 0
        bars = (
            (complete & turns, color(encoding), "fits into the length"),
            (~complete & turns, "0.75", "longer: new angles beyond it"),
        )
        for is_bar, shade, name in bars:
            axis.bar(pair[is_bar], 2 * np.pi / w[is_bar], color=shade, label=name)
        bottom, top = axis.get_ylim()
        axis.set_ylim(bottom, top * (top / bottom) ** 0.3)  # free space for the legend
        axis.legend(loc="upper left")
    axis.axhline(encoding.length, color="black", linestyle="--", linewidth=1)
    axis.annotate(
        f"length {encoding.length}",
        (0.6, encoding.length),  # above the fast pairs, whose periods are shorter
        textcoords="offset points",
        xytext=(0, 3),
        fontsize=6.5,
    )
    axis.set(title="period of each pair", xlabel="pair of channels", ylabel="positions")
    whole_ticks(axis, len(w), first=1)


def similarity_curve(axis: Axes, encoding: UntrainedEncoding) -> None:
    """Logit of a unit query with itself at a distance, averaged over all directions."""
    length = encoding.lengths(1, 2, 4)[-1]
    by_head = measurements.similarity_by_distance(encoding, length)
    plot_by_head(axis, by_head)
    mark_length(axis, encoding)
    mark_end_of_decay(axis, by_head.mean(axis=0))
    axis.set(title="logit of a unit query and an equal key", xlabel="distance (positions)")
    axis.set_ylabel("logit")


PANELS = (turning_pairs, cosines, periods, similarity_curve)


def caption(row: Row) -> str:
    complete = row.numbers.get("pairs that complete a period")
    product = "the product of a query and an equal key by distance, averaged over all directions"
    if complete is None:
        return f"The curve is {product}. {decay_sentence(row)}"
    return (
        "Queries and keys are pairs of channels, which are points on circles. Top left: from one "
        "position (dark) to the next (lighter), each pair turns by its own angle. Top right: the "
        "cosine of the angle between query and key, which is what remains of their product, pair "
        f"by pair. Bottom left: {complete:.0%} of the pairs complete a period within the length; "
        "the others, above the dashed line, reach angles in longer examples that do not occur in "
        f"training. Bottom right: {product}. The dashed lines are the length. If heads differ, "
        f"the upper panels show the first one and the lower ones all. {decay_sentence(row)}"
    )


def _frequencies(encoding: UntrainedEncoding) -> Float[np.ndarray, "h p"]:
    frequencies = rotation_angles.frequencies(encoding)
    return np.zeros((1, 1)) if frequencies is None else frequencies


def _heads_differ(of_heads: Float[np.ndarray, "h p"]) -> bool:
    return not np.allclose(of_heads, of_heads[:1], rtol=1e-3)


def _first_head(encoding: UntrainedEncoding) -> tuple[Float[np.ndarray, "p"], str]:
    """The angles of the first head, and what a title says of it if heads differ."""
    of_heads = _frequencies(encoding)
    return of_heads[0], "head 1: " if _heads_differ(of_heads) else ""
