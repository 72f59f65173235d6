"""Pictures of untrained encodings: one picture each, and two that compare several encodings."""

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pe_lab.contrib.inspection import (
    attention_pictures,
    embedding_pictures,
    measurements,
    rotation_angles,
    rotation_pictures,
    similarity,
)
from pe_lab.contrib.inspection.scorecard import Row
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.results.plots import drawing, literal, styles
from pe_lab.results.plots.styles import Style

_LABEL_WIDTH = 30  # characters of a line of the legend
Panel = Callable[[Axes, UntrainedEncoding], None]
_PANELS: dict[str | None, tuple[Panel, ...]] = {
    "embedding": embedding_pictures.PANELS,
    "rotation": rotation_pictures.PANELS,
    "bias": attention_pictures.BIAS_PANELS,
    "content": attention_pictures.CONTENT_PANELS,
    None: attention_pictures.TOKEN_PANELS,
}
_CAPTIONS: dict[str | None, Callable[[Row], str]] = {
    "embedding": embedding_pictures.caption,
    "rotation": rotation_pictures.caption,
    "bias": attention_pictures.bias_caption,
    "content": attention_pictures.content_caption,
    None: attention_pictures.token_caption,
}


def caption(row: Row) -> str:
    """Explanation of an encoding's picture, with its numbers, in one paragraph."""
    return _CAPTIONS[row.kind](row)


def draw(encoding: UntrainedEncoding, files: Sequence[Path], dpi: int = 200) -> None:
    """Write the picture of one encoding to each file, in the format of its suffix."""
    panels = _panels(encoding)
    columns = 2 if len(panels) in (2, 4) else len(panels)
    rows = len(panels) // columns
    size = (drawing.WIDTH, 2.6 * rows + 0.3)
    if columns == 1:
        size = (drawing.WIDTH * 0.6, 2.6)
    with drawing.settings():
        figure, axes = _grid(rows, columns, size)
        for axis, panel in zip(axes, panels, strict=True):
            panel(axis, encoding)
        heads = axes[-1].get_legend_handles_labels()  # if they differ, or all are drawn
        if heads[0]:
            figure.legend(*heads, loc="outside lower center", ncols=8 if columns > 1 else 3)
        end = "\n" if columns == 1 else " "  # a narrow picture would cut a long title off
        figure.suptitle(
            f"{encoding.name}: {encoding.length} positions, width {encoding.width},{end}"
            f"{encoding.num_heads} heads, untrained"
        )
        drawing.save(figure, files, dpi=dpi)


def draw_paths(
    encodings: Sequence[UntrainedEncoding], files: Sequence[Path], dpi: int = 200
) -> None:
    """The paths of consecutive embeddings, a panel for each encoding."""
    columns = min(len(encodings), 3)
    rows = -(-len(encodings) // columns)
    with drawing.settings():
        figure, axes = _grid(rows, columns, (drawing.WIDTH, 2.4 * rows + 0.4))
        for axis, encoding in zip(axes, encodings, strict=False):
            embedding_pictures.path(axis, encoding, title=encoding.name)
        for axis in axes[len(encodings) :]:
            axis.axis("off")
        figure.suptitle(
            "Embeddings of consecutive positions (0 is dark), in the plane of largest variance"
        )
        drawing.save(figure, files, dpi=dpi)


def draw_similarities(
    encodings: Sequence[UntrainedEncoding], files: Sequence[Path], dpi: int = 200
) -> None:
    """Similarity by distance of embeddings and rotations, and below the logits of the others.

    A similarity is 1 at distance 0. A bias is no similarity, but a change of the logit.
    """
    looks = styles.assign([[encoding.name for encoding in encodings]])
    similar = [encoding for encoding in encodings if encoding.kind in ("embedding", "rotation")]
    added = [encoding for encoding in encodings if encoding.kind in ("bias", "content")]
    rows = [row for row in (similar, added) if row]
    with drawing.settings():
        figure, axes = _grid(len(rows), 1, (drawing.WIDTH, 3.2 * len(rows)))
        for axis, row in zip(axes, rows, strict=True):
            for encoding in row:
                _by_distance(axis, encoding, looks[encoding.name])
            axis.axhline(0, color="0.6", linewidth=1)
            axis.set(xlabel="distance (positions)", ylabel="similarity (1: equal)")
            axis.set_title("Similarity of two positions by distance", loc="left")
            if row is added:
                axis.set_ylabel("logit − logit at distance 0")
                axis.set_title(
                    "Logit by distance: mean of the heads that see it (thin: each)", loc="left"
                )
            axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
        drawing.save(figure, files, dpi=dpi)


def _by_distance(axis: Axes, encoding: UntrainedEncoding, style: Style) -> None:
    if encoding.kind == "embedding":
        curve = similarity.by_offset(similarity.gram(encoding.table(encoding.length)))
    else:
        by_head = measurements.similarity_by_distance(encoding, encoding.length)
        if encoding.kind != "rotation":
            by_head = np.where(np.isfinite(by_head), by_head - by_head[:, :1], np.nan)
            axis.plot(by_head.T, color=style.color, linewidth=0.6, alpha=0.6)
        curve = similarity.mean_of_visible(by_head)
    if encoding.kind in ("embedding", "rotation"):
        curve = curve / (curve[0] or 1.0)
    axis.plot(
        curve,
        color=style.color,
        marker=style.marker,
        markevery=max(1, encoding.length // 8),
        linestyle=style.linestyle,
        label=literal.legend_label(textwrap.fill(encoding.name, _LABEL_WIDTH)),
    )


def _panels(encoding: UntrainedEncoding) -> tuple[Panel, ...]:
    if encoding.kind == "rotation" and rotation_angles.frequencies(encoding) is None:
        return (rotation_pictures.similarity_curve,)
    if encoding.kind == "bias" and "bias" not in encoding.hooks:
        return attention_pictures.BIAS_PANELS[1:]  # a mask alone
    return _PANELS[encoding.kind]


def _grid(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    figure, axes = drawing.pyplot().subplots(
        rows, columns, figsize=size, squeeze=False, layout="constrained"
    )
    return figure, list(axes.flat)
