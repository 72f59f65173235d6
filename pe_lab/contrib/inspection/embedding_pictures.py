"""Panels and caption of an encoding at the input."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from pe_lab.contrib.inspection import similarity
from pe_lab.contrib.inspection.panels import (
    MAP,
    add_colorbar,
    color,
    decay_sentence,
    mark_end_of_decay,
    unique_sentence,
    whole_ticks,
)
from pe_lab.contrib.inspection.scorecard import Row
from pe_lab.contrib.inspection.untrained import UntrainedEncoding

_PATH = 16  # positions of a path; more would hide each other


def heat_map(axis: Axes, encoding: UntrainedEncoding) -> None:
    """The embeddings, position against channel."""
    E = encoding.table(encoding.length)
    top = np.abs(E).max() or 1.0
    image = axis.imshow(E, aspect="auto", cmap=MAP, vmin=-top, vmax=top, interpolation="nearest")
    add_colorbar(axis, image)
    axis.set(title="embedding of each position", xlabel="channel", ylabel="position")
    whole_ticks(axis, E.shape[1])


def similarity_matrix(axis: Axes, encoding: UntrainedEncoding) -> None:
    """The inner product of every two embeddings, relative to the largest."""
    K = similarity.gram(encoding.table(encoding.length))
    K = K / (np.abs(K).max() or 1.0)
    image = axis.imshow(K, cmap=MAP, vmin=-1, vmax=1, interpolation="nearest")
    add_colorbar(axis, image)
    axis.set(title="similarity of every two positions", xlabel="position", ylabel="position")


def similarity_curve(axis: Axes, encoding: UntrainedEncoding) -> None:
    """Mean and range of the similarity at each distance."""
    K = similarity.gram(encoding.table(encoding.length))
    # An embedding of zeros has no similarity to normalize.
    K = K / (np.diagonal(K).mean() or 1.0)
    curve = similarity.by_offset(K)
    distance = np.arange(len(K))
    diagonals = [np.diagonal(K, offset) for offset in distance]
    low = [diagonal.min() for diagonal in diagonals]
    high = [diagonal.max() for diagonal in diagonals]
    shade = color(encoding)
    label = "range over positions"
    axis.fill_between(distance, low, high, color=shade, alpha=0.2, linewidth=0, label=label)
    axis.plot(distance, curve, color=shade, label="mean")
    mark_end_of_decay(axis, curve)
    axis.set(title="similarity by distance", xlabel="distance (positions)")
    axis.set_ylabel("similarity (1: equal)")
    axis.legend(loc="best")


def path(axis: Axes, encoding: UntrainedEncoding, title: str | None = None) -> None:
    """Embeddings of consecutive positions, in the plane in which they differ most."""
    E = encoding.table(encoding.length)[:_PATH]
    points = _plane(E)
    x, y = points.T
    positions = np.arange(len(points))
    axis.plot(x, y, color="0.75", linewidth=1, zorder=1)
    axis.scatter(x, y, c=positions, cmap="viridis", s=26, zorder=2)
    # The names of all points would hide each other.
    for p in positions[::3]:
        point = (x[p], y[p])
        axis.annotate(str(p), point, textcoords="offset points", xytext=(4, 4), fontsize=6.5)
    axis.set(title=title or f"path of the positions 0 to {len(E) - 1}")
    if E.shape[1] == 1:
        axis.set(xlabel="position", ylabel="embedding")
    else:
        axis.set(xlabel="first principal direction", ylabel="second principal direction")


PANELS = (heat_map, similarity_matrix, similarity_curve, path)


def caption(row: Row) -> str:
    return (
        "Top left: the embedding of each position as a row of colors. Top right: the similarity "
        "of every two positions, as the inner product of their embeddings. Bottom left: the same "
        f"by distance. {decay_sentence(row)} Bottom right: the embeddings of the first positions "
        f"as points, each joined to the next. {_steps_sentence(row)} {unique_sentence(row)}"
    )


def _steps_sentence(row: Row) -> str:
    longest = row.numbers["largest step / random pair"]
    if longest is None:
        return "All points coincide."
    steps = "They follow a curve" if longest < 1 else "They jump"
    return f"{steps}: the longest step is {longest:.2f} times the distance of two random positions."


def _plane(E: Float[np.ndarray, "l c"]) -> Float[np.ndarray, "l 2"]:
    """Two principal coordinates of each row; position and value if there is one channel."""
    length, width = E.shape
    if width == 1:
        return np.column_stack([np.arange(length), E[:, 0]])
    centered = E - E.mean(axis=0)
    covariance = centered.T @ centered
    # Directions of equal variance, as binary digits have, are not unique. A small fixed
    # disturbance selects one, so that the picture is the same on every machine.
    tilt = np.random.default_rng(0).standard_normal((width, width))
    size = np.square(centered).sum() or 1.0
    disturbance = 1e-3 * (size * (tilt + tilt.T) / width)
    _, vectors = np.linalg.eigh(covariance + disturbance)
    return centered @ vectors[:, [-1, -2]]  # eigh sorts by rising variance
