"""Attention maps of one example: a picture for each length and attention."""

import functools

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from pe_lab.contrib.inspection.trained.findings import Findings
from pe_lab.contrib.inspection.trained.observations import FirstExample
from pe_lab.contrib.inspection.trained.sections.section import Section, grid
from pe_lab.results.plots import drawing


def section(findings: Findings) -> Section:
    pictures = {}
    for length, example in findings.first_examples.items():
        for name in example.weights:
            stem = f"trained_attention_{name}_{length}"
            pictures[stem] = functools.partial(figure, findings, length, name)
    return Section(
        title="Attention maps",
        measured=(
            "The attention weights of the trained model on the first test example of each length, "
            "for every head of every layer."
        ),
        reading=(
            "Each square is one head. A row is a query, the token that attends. A column is a key, "
            "the token that is attended to. Both are numbered from 0 in the order in which the "
            "model reads them. Dark cells are large weights. White cells are near 0 or masked, "
            "such as later tokens in a decoder. A red ring marks the key that the task names: the "
            "token of the prompt that the query has to produce next. A head with dark cells inside "
            "the rings looks up the token that it needs."
        ),
        this_run="",
        limits=(
            "One example per length can mislead. The next section has means over all examples. A "
            "large weight also does not prove that the model uses the token that it attends to."
        ),
        pictures=pictures,
    )


def figure(findings: Findings, length: int, name: str) -> Figure:
    """A row of maps per layer, a map per head."""
    example = findings.first_examples[length]
    heads = example.weights[name][0].shape[0]
    layers = []
    for mask, weights in zip(example.mask[name], example.weights[name], strict=True):
        layers.append(np.where(mask, weights, np.nan))
    # Rows and columns of padding are cut off.
    visible = np.isfinite(np.stack(layers)).any(axis=(0, 1))  # [L, S]
    rows = np.flatnonzero(visible.any(axis=1))
    columns = np.flatnonzero(visible.any(axis=0))
    # Maps of many heads get wider than a page rather than unreadable.
    comfortable = min(drawing.WIDTH, 2.0 * heads + 0.9)
    width = max(comfortable, 1.2 * heads)
    map_width = (width - 0.9) / heads
    map_height = map_width * len(rows) / len(columns) + 0.25
    size = (width, 0.9 + map_height * len(layers))
    figure, axes = grid(len(layers), heads, size, sharex=True, sharey=True)
    rings = _rings(findings, example, name)
    ring_size = min(40.0, 1500 / len(columns) ** 2)
    ring = {"s": ring_size, "facecolors": "none", "edgecolors": "#ce0827", "linewidths": 0.5}
    for layer, weights in enumerate(layers):
        for head, axis in enumerate(axes[layer]):
            image = axis.imshow(
                weights[head], cmap="Greys", vmin=0, vmax=1, interpolation="nearest"
            )
            axis.scatter(rings[:, 1], rings[:, 0], **ring)
            axis.set_title(f"layer {layer + 1}, head {head + 1}")
            axis.set_xlim(columns[0] - 0.5, columns[-1] + 0.5)
            axis.set_ylim(rows[-1] + 0.5, rows[0] - 0.5)  # the first query at the top
            axis.grid(visible=False)
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.yaxis.get_major_locator().set_params(integer=True)
    figure.colorbar(image, ax=axes, fraction=0.02, pad=0.01, label="attention weight")
    figure.supxlabel("key (index of the token)", fontsize=8)
    figure.supylabel("query (index of the token)", fontsize=8)
    figure.suptitle(f"Attention weights of one example, {name}, length {length}")
    return figure


def _rings(findings: Findings, example: FirstExample, name: str) -> Float[np.ndarray, "n 2"]:
    """Query and key of each pair that the task names."""
    rows = [row for row in findings.attention if row.attention == name]
    if all(row.aligned is None for row in rows):
        return np.zeros((0, 2))
    return np.argwhere(example.aligned).astype(np.float64)
