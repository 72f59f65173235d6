"""Pictures that only the guide has. It also shows pictures of encodings and published studies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from docs.build.guide.numbers import NORMALIZED
from pe_lab.contrib.inspection import encoding_pictures, panels, similarity
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.results.plots import drawing

Tables = Mapping[str, Float[np.ndarray, "l d"]]
_TITLES = {  # each step of the guide, with its fault or its merit
    "raw_index": "index: grows with length",
    "normalized": "normalized: steps differ",
    "binary": "bits: not continuous",
    "single_sine": "one sine: repeats",
    "multi_sine": "many sines: unique",
    "sinusoidal": "sines and cosines: linear shift",
}
_NUM_POSITIONS = 32  # of the embeddings
_NORMALIZED_LENGTHS = (8, 16, _NUM_POSITIONS)
_DIVIDED = "normalized"  # no encoding of its own, but a position scheme
_DPI = 110


def draw(tables: Tables, folder: Path) -> list[Path]:
    """Draw all pictures as PNG.

    Args:
      tables: rows of a learned embedding, by the state of training.
    """
    encodings = {name: UntrainedEncoding({"name": name}) for name in _TITLES if name != _DIVIDED}
    encodings[_DIVIDED] = NORMALIZED
    files = {
        name: folder / f"{name}.png" for name in ("embeddings", "paths", "similarities", "learned")
    }
    with drawing.settings():
        _embeddings(encodings, files["embeddings"])
        _learned(tables, files["learned"])
    encoding_pictures.draw_paths(
        [encodings[name] for name in ("binary", "multi_sine", "sinusoidal")],
        [files["paths"]],
        dpi=_DPI,
    )
    compared = [encodings["multi_sine"], encodings["sinusoidal"]]
    encoding_pictures.draw_similarities(compared, [files["similarities"]], dpi=_DPI)
    return list(files.values())


def _embeddings(encodings: Mapping[str, UntrainedEncoding], file: Path) -> None:
    """A line for embeddings of one channel, and a heat map for the others."""
    figure, axes = _axes(2, 3, 3.6)
    for axis, name in zip(axes.flat, _TITLES, strict=True):
        encoding = encodings[name]
        E = encoding.table(_NUM_POSITIONS)
        axis.set_title(_TITLES[name])
        if E.shape[1] == 1:
            lengths = _NORMALIZED_LENGTHS if name == _DIVIDED else (_NUM_POSITIONS,)
            _line(axis, encoding, lengths)
            continue
        if name == "binary":
            E = E[:, np.ptp(E, axis=0) > 0]  # the higher bits are 0 at all of these positions
        _heat(axis, E)
        axis.set(xlabel="channel", ylabel="position")
        axis.set_xticks(np.linspace(0, E.shape[1] - 1, 3).astype(int))
    figure.suptitle(
        f"Embeddings of {_NUM_POSITIONS} positions (heat maps: red is positive, blue is negative)"
    )
    drawing.save(figure, [file], dpi=_DPI)


def _line(axis: Any, encoding: UntrainedEncoding, lengths: tuple[int, ...]) -> None:
    """An embedding of one channel, for examples of these lengths."""
    shades = ("0.65", "0.4", panels.color(encoding))[-len(lengths) :]
    for length, shade in zip(lengths, shades, strict=True):
        axis.plot(
            encoding.table(length)[:, 0],
            color=shade,
            marker="o",
            markersize=2,
            linewidth=1,
            label=f"{length} tokens",
        )
    axis.set(xlabel="position", ylabel="embedding")
    if len(lengths) > 1:
        axis.legend(loc="lower right")


def _learned(tables: Tables, file: Path) -> None:
    """The rows above, and below the cosines of all pairs of rows."""
    figure, axes = _axes(2, len(tables), 4.4)
    for (above, below), (state, E) in zip(axes.T, tables.items(), strict=True):
        figure.colorbar(_heat(above, E), ax=above, pad=0.02)
        above.set(title=state, xlabel="channel", ylabel="position")
        unit = E / np.linalg.norm(E, axis=1, keepdims=True)
        image = below.imshow(
            similarity.gram(unit), cmap=panels.MAP, vmin=-1, vmax=1, interpolation="nearest"
        )
        below.set(xlabel="position", ylabel="position")
        below.grid(visible=False)
    figure.colorbar(image, ax=list(axes[1]), label="cosine of two rows")
    figure.suptitle("A learned embedding table: its rows, and the cosines of all pairs of rows")
    drawing.save(figure, [file], dpi=_DPI)


def _axes(lines: int, columns: int, height: float) -> tuple[Any, Any]:
    return drawing.pyplot().subplots(
        lines, columns, figsize=(drawing.WIDTH, height), squeeze=False, layout="constrained"
    )


def _heat(axis: Any, E: Float[np.ndarray, "l c"]) -> Any:
    top = np.abs(E).max() or 1.0
    axis.grid(visible=False)
    return axis.imshow(
        E, aspect="auto", cmap=panels.MAP, vmin=-top, vmax=top, interpolation="nearest"
    )
