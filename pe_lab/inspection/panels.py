"""The panels of an encoding's picture: each draws one idea on one pair of axes and says in its
title what is to be seen.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from pe_lab.inspection import measurements, receptive_field, rotation_angles, similarity
from pe_lab.inspection.measurements import visible
from pe_lab.inspection.untrained import UntrainedEncoding
from pe_lab.results.plots import styles

MAP = "RdBu_r"  # of numbers on both sides of 0
_PATH = 16  # positions of a path: more hide each other
_PLACES = 9  # positions of a pair that turns


def color(probe: UntrainedEncoding) -> str:
    return styles.of_name(probe.spec["name"]).color


def heat_map(axis: Any, probe: UntrainedEncoding) -> None:
    """Position against channel."""
    E = probe.table(probe.length)
    top = np.abs(E).max() or 1.0
    shown = axis.imshow(E, aspect="auto", cmap=MAP, vmin=-top, vmax=top, interpolation="nearest")
    _bar(axis, shown)
    axis.set(title="the code: one row a position", xlabel="channel", ylabel="position")
    _whole(axis, E.shape[1])


def similarity_matrix(axis: Any, probe: UntrainedEncoding) -> None:
    """The inner product of every two codes, over the largest."""
    K = similarity.gram(probe.table(probe.length))
    shown = axis.imshow(
        K / (np.abs(K).max() or 1.0), cmap=MAP, vmin=-1, vmax=1, interpolation="nearest"
    )
    _bar(axis, shown)
    axis.set(title="how alike every two positions are", xlabel="position", ylabel="position")


def similarity_by_distance(axis: Any, probe: UntrainedEncoding) -> None:
    """The mean of the diagonals, and the range along each."""
    K = similarity.gram(probe.table(probe.length))
    K = K / (np.diagonal(K).mean() or 1.0)
    curve, place = similarity.by_offset(K), np.arange(len(K))
    low, high = ([f(np.diagonal(K, o)) for o in place] for f in (np.min, np.max))
    axis.fill_between(
        place, low, high, color=color(probe), alpha=0.2, linewidth=0, label="range over positions"
    )
    axis.plot(place, curve, color=color(probe), label="mean")
    _mark_end_of_decay(axis, curve)
    axis.set(
        title="how alike, by distance",
        xlabel="distance in positions",
        ylabel="similarity (1: with itself)",
    )
    axis.legend(loc="best")


def path(axis: Any, probe: UntrainedEncoding, title: str | None = None) -> None:
    """Neighbouring codes, joined, in the plane in which they differ most."""
    E = probe.table(probe.length)[:_PATH]
    flat, on_channel = _plane(E)
    axis.plot(*flat.T, color="0.75", linewidth=1, zorder=1)
    axis.scatter(*flat.T, c=np.arange(len(flat)), cmap="viridis", s=26, zorder=2)
    for p in range(0, len(flat), 3):
        axis.annotate(str(p), flat[p], textcoords="offset points", xytext=(4, 4), fontsize=6.5)
    axis.set(title=title or f"positions 0 to {len(E) - 1}, each joined to the next")
    axis.set(
        **(
            dict(xlabel="position", ylabel="the code")
            if on_channel
            else dict(xlabel="first direction", ylabel="second direction")
        )
    )


def turning_pair(axis: Any, probe: UntrainedEncoding) -> None:
    """Where the fastest pair, one between and the slowest point at positions 0, 1, 2, …"""
    w = _frequencies(probe)[0]
    turning = w[w > 0] if (w > 0).any() else w
    for radius, speed, name in zip(
        (1.0, 0.72, 0.44),
        turning[[0, len(turning) // 2, -1]],
        ("outer", "middle", "inner"),
        strict=True,
    ):
        angle = speed * np.arange(_PLACES)
        axis.add_patch(_circle(radius))
        axis.plot([0, radius], [0, 0], color="0.85", linewidth=0.8, zorder=0)
        axis.scatter(
            radius * np.cos(angle),
            radius * np.sin(angle),
            c=np.arange(_PLACES),
            cmap="viridis",
            s=24,
            zorder=2,
        )
        axis.text(
            1.25,
            2 * radius - 1.44,
            f"{name}: {np.degrees(speed):.2g}° a position",
            fontsize=7,
            va="center",
        )
    axis.set_xlim(-1.1, 3.1)
    axis.set(title=f"pairs of channels turn, positions 0 to {_PLACES - 1}", aspect="equal")
    axis.axis("off")


def periods(axis: Any, probe: UntrainedEncoding) -> None:
    """Positions until each pair has come round, against the length."""
    w = _frequencies(probe)[0]
    done, pair = rotation_angles.completed(w, probe.length), np.arange(1, len(w) + 1)
    turns = w > 0
    for chosen, shade, name in (
        (done & turns, color(probe), "comes round"),
        (~done & turns, "0.75", "does not: meets new angles later"),
    ):
        axis.bar(pair[chosen], 2 * np.pi / w[chosen], color=shade, label=name)
    axis.axhline(probe.length, color="black", linestyle="--", linewidth=1)
    axis.annotate(
        f"length {probe.length}",
        (pair[-1] + 0.4, probe.length),
        textcoords="offset points",
        xytext=(0, 3),
        fontsize=6.5,
        ha="right",
    )
    axis.set(
        title="how long each pair takes to come round",
        xlabel="pair of channels",
        ylabel="positions",
        yscale="log",
    )
    axis.legend()
    _whole(axis, len(w), first=1)


def turned_query(axis: Any, probe: UntrainedEncoding) -> None:
    """The similarity of random unit queries with themselves, so many positions on."""
    n = probe.lengths(1, 2, 4)[-1]
    K = measurements.kernel(probe, n)
    for line in K if np.ptp(K, axis=0).max() > 0.02 * np.ptp(K) else ():
        axis.plot(np.arange(n), line, color=color(probe), alpha=0.3, linewidth=0.8)
    axis.plot(np.arange(n), K.mean(axis=0), color=color(probe))
    axis.axvline(probe.length, color="black", linestyle="--", linewidth=1)
    _mark_end_of_decay(axis, K.mean(axis=0))
    axis.set(
        title="product of a query and its own copy, by distance",
        xlabel="distance in positions",
        ylabel="product (thin: by head)",
    )


def cosines(axis: Any, probe: UntrainedEncoding) -> None:
    """cos(distance * w) of each pair."""
    w = _frequencies(probe)[0]
    shown = axis.imshow(
        np.cos(np.arange(probe.length)[:, None] * w),
        aspect="auto",
        cmap=MAP,
        vmin=-1,
        vmax=1,
        interpolation="nearest",
    )
    _bar(axis, shown)
    axis.set(
        title="cosine of the angle between query and key",
        xlabel="pair of channels, fastest first",
        ylabel="distance in positions",
    )
    axis.set_xticks(
        np.arange(len(w))[:: max(1, len(w) // 8)], np.arange(1, len(w) + 1)[:: max(1, len(w) // 8)]
    )
    axis.grid(visible=False)


def bias_by_head(axis: Any, probe: UntrainedEncoding) -> None:
    """What is added to the logits at each distance; a line ends where its mask does."""
    K = probe.logits(probe.length)
    for h, line in enumerate(np.where(np.isfinite(K), K, np.nan)):
        axis.plot(
            line,
            color=color(probe),
            dashes=styles.DASHES[h % len(styles.DASHES)] or (None, None),
            label=f"head {h + 1}",
            marker="." if probe.length < 3 else None,
        )
    axis.set(
        title="what a head adds to the logits",
        xlabel="distance in positions",
        ylabel="added to the logit",
    )


def attention_left(axis: Any, probe: UntrainedEncoding) -> None:
    """Attention of each head to each distance when content says nothing."""
    weights = receptive_field.attention(probe.logits(probe.length))
    shown = weights / weights.max(axis=1, keepdims=True)
    _bar(
        axis,
        axis.imshow(shown, aspect="auto", cmap="Greys", vmin=0, vmax=1, interpolation="nearest"),
    )
    axis.set(
        title="attention if all keys were alike, over each head's most",
        xlabel="distance in positions",
        ylabel="head",
    )
    axis.set_yticks(range(len(weights)), [str(h + 1) for h in range(len(weights))])
    axis.grid(visible=False)


def reach(axis: Any, probe: UntrainedEncoding) -> None:
    """How much of each head's attention lies within a distance, in an example of four lengths, or
    as long as there is.
    """
    n = probe.lengths(1, 2, 4)[-1]
    K = probe.logits(n)
    for h, line in enumerate(np.cumsum(receptive_field.attention(K), axis=-1)):
        axis.plot(
            line,
            color=color(probe),
            dashes=styles.DASHES[h % len(styles.DASHES)] or (None, None),
            label=f"head {h + 1}",
        )
    axis.axhline(0.99, color="0.6", linewidth=1)
    axis.axvline(probe.length, color="black", linestyle="--", linewidth=1)
    axis.annotate(
        "99%", (n, 0.99), textcoords="offset points", xytext=(0, 2), fontsize=6.5, ha="right"
    )
    axis.set(
        title="share of it within a distance",
        xlabel="distance in positions",
        ylabel="share",
        ylim=(0, 1.12),
    )


def logits_of_draws(axis: Any, probe: UntrainedEncoding) -> None:
    """What each random query and key get at each distance, less their mean."""
    K = visible(probe.logits(probe.length)).reshape(-1, probe.num_heads, probe.length)[:, 0]
    K = K - K.mean(axis=1, keepdims=True)
    top = np.abs(K).max() or 1.0
    shown = axis.imshow(K.T, aspect="auto", cmap=MAP, vmin=-top, vmax=top, interpolation="nearest")
    _bar(axis, shown)
    axis.set(
        title="head 1: logits of random queries and keys",
        xlabel="random query and key",
        ylabel="distance in positions",
    )
    axis.grid(visible=False)


def mean_logit(axis: Any, probe: UntrainedEncoding) -> None:
    """Mean and spread over unit queries that meet themselves, of all directions and heads."""
    K = visible(probe.logits(probe.length, own_key=True))
    centre, spread = K.mean(axis=0), K.std(axis=0)
    axis.fill_between(
        np.arange(probe.length),
        centre - spread,
        centre + spread,
        color=color(probe),
        alpha=0.2,
        linewidth=0,
    )
    axis.plot(centre, color=color(probe))
    axis.set(
        title="queries that meet themselves: mean, spread",
        xlabel="distance in positions",
        ylabel="logit times √Dh",
    )


def attention_of_random_tokens(axis: Any, probe: UntrainedEncoding) -> None:
    """How the last of random tokens attends, by distance: where tokens decide, this depends on
    them.
    """
    w = probe.attention_of_random_tokens(probe.length)
    by_head = w.mean(axis=0)
    for h, line in enumerate(by_head):
        axis.plot(
            line,
            color=color(probe),
            dashes=styles.DASHES[h % len(styles.DASHES)] or (None, None),
            label=f"head {h + 1}",
        )
    axis.axhline(1 / probe.length, color="black", linewidth=1, zorder=3, label="equal shares")
    axis.set(
        title=f"attention of the last token, mean of {len(w)} random sequences",
        xlabel="distance in positions",
        ylabel="weight",
    )
    axis.set_ylim(bottom=0)


def _plane(E: Float[np.ndarray, "l c"]) -> tuple[Float[np.ndarray, "l 2"], bool]:
    """Two coordinates of each code, and whether they are position and channel, there being one
    channel alone.

    Directions of equal variance, as binary digits have, could be turned at will: a small, fixed
    disturbance decides.
    """
    if E.shape[1] == 1:
        return np.column_stack([np.arange(len(E)), E[:, 0]]), True
    centred = E - E.mean(axis=0)
    tilt = np.random.default_rng(0).standard_normal((E.shape[1],) * 2)
    _, vectors = np.linalg.eigh(
        centred.T @ centred + 1e-3 * (np.square(centred).sum() or 1.0) * (tilt + tilt.T) / len(tilt)
    )
    return centred @ vectors[:, [-1, -2]], False


def _frequencies(probe: UntrainedEncoding) -> Float[np.ndarray, "h p"]:
    found = measurements.frequencies(probe)
    return np.zeros((1, 1)) if found is None else found


def _mark_end_of_decay(axis: Any, curve: Float[np.ndarray, "l"]) -> None:
    """A dotted line at the last distance up to which it never rose."""
    if (stop := similarity.first_increase(curve)) is not None:
        axis.axvline(stop - 1, color="0.4", linewidth=1, linestyle=":")


def _circle(radius: float) -> Any:
    from matplotlib.patches import Circle

    return Circle((0, 0), radius, fill=False, color="0.85", linewidth=0.8, zorder=0)


def _bar(axis: Any, shown: Any) -> None:
    axis.figure.colorbar(shown, ax=axis, fraction=0.046, pad=0.02)
    axis.grid(visible=False)


def _whole(axis: Any, count: int, first: int = 0) -> None:
    """Ticks at whole channels."""
    axis.set_xticks(range(first, first + count, max(1, count // 8)))
