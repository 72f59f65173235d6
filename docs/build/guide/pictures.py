"""The guide's own pictures; those of single encodings and of the published studies it shows as they
are.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from docs.build.guide.numbers import NORMALIZED
from pe_lab.inspection import encoding_pictures, panels, similarity
from pe_lab.inspection.untrained import UntrainedEncoding
from pe_lab.results.plots import drawing

Tables = Mapping[str, Float[np.ndarray, "l d"]]
_STEPS = {  # what each step of the story says, over its code
    "raw_index": "count: grows",
    "normalized": "divide: steps differ by length",
    "binary": "bits: jump",
    "single_sine": "one sine: repeats",
    "multi_sine": "many sines: unique",
    "sinusoidal": "with cosines: shifts turn",
}
_SHOWN = 32  # positions of a heat map
_DPI = 110


def draw(tables: Tables, folder: Path) -> list[Path]:
    """Writes all of them as PNG; `tables`: the rows of a learned code that training used, by state
    of training.
    """
    probes = {
        name: NORMALIZED if name == "normalized" else UntrainedEncoding({"name": name})
        for name in _STEPS
    }
    files = {name: folder / f"{name}.png" for name in ("codes", "paths", "similarities", "learned")}
    with drawing.settings():
        _codes(probes, files["codes"])
        _learned(tables, files["learned"])
    encoding_pictures.draw_paths(
        [probes[name] for name in ("binary", "multi_sine", "sinusoidal")],
        [files["paths"]],
        dpi=_DPI,
    )
    compared = [
        probes["multi_sine"],
        probes["sinusoidal"],
        UntrainedEncoding({"name": "learned"}),
        UntrainedEncoding({"name": "rope"}),
    ]
    encoding_pictures.draw_similarities(compared, [files["similarities"]], dpi=_DPI)
    return list(files.values())


def _codes(probes: Mapping[str, UntrainedEncoding], file: Path) -> None:
    figure, axes = _axes(2, 3, 3.6)
    for axis, (name, probe) in zip(axes.flat, probes.items(), strict=True):
        E = probe.table(_SHOWN)
        axis.set_title(_STEPS[name])
        if E.shape[1] == 1:
            _line(axis, probe, (8, 16, _SHOWN) if name == "normalized" else (_SHOWN,))
            continue
        E = E[:, np.ptp(E, axis=0) > 0] if name == "binary" else E
        _heat(axis, E)
        axis.set(xlabel="channel", ylabel="position")
        axis.set_xticks(np.linspace(0, E.shape[1] - 1, 3).astype(int))
    figure.suptitle(
        "The code of each position: of one number as a line, of several as a row (red is "
        "positive, blue negative)"
    )
    drawing.save(figure, [file], dpi=_DPI)


def _line(axis: Any, probe: UntrainedEncoding, lengths: tuple[int, ...]) -> None:
    """A code of one channel, for examples of these lengths."""
    for length, shade in zip(
        lengths,
        ("0.65", "0.4", panels.color(probe)) if len(lengths) > 1 else (panels.color(probe),),
        strict=True,
    ):
        axis.plot(
            probe.table(length)[:, 0],
            color=shade,
            marker="o",
            markersize=2,
            linewidth=1,
            label=f"{length} tokens",
        )
    axis.set(xlabel="position", ylabel="the code")
    if len(lengths) > 1:
        axis.legend(loc="lower right")


def _learned(tables: Tables, file: Path) -> None:
    """Above the rows, below how alike they are."""
    figure, axes = _axes(2, len(tables), 4.4)
    for (above, below), (state, E) in zip(axes.T, tables.items(), strict=True):
        figure.colorbar(_heat(above, E), ax=above, pad=0.02)
        above.set(title=state, xlabel="channel", ylabel="position")
        unit = E / np.linalg.norm(E, axis=1, keepdims=True)
        shown = below.imshow(
            similarity.gram(unit), cmap=panels.MAP, vmin=-1, vmax=1, interpolation="nearest"
        )
        below.set(xlabel="position", ylabel="position")
        below.grid(visible=False)
    figure.colorbar(shown, ax=list(axes[1]), label="cosine of two rows")
    figure.suptitle("A learned table: its rows, and below how alike every two of them are")
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
