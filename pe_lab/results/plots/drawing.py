"""What the pictures share: sizes for print, names, colours, files that are the same every time."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pe_lab.results import statistics
from pe_lab.results.plots import styles
from pe_lab.results.results import EVALUATED_WITH, Results, Variant
from pe_lab.results.statistics import BOOTSTRAP_FROM, Centre
from pe_lab.runs.analysis_spec import SEPARATOR

WIDTH = 7.0  # inches: a page's text
_SETTINGS = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7.5,
    "figure.titlesize": 9,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "hatch.linewidth": 0.5,
}
_NO_DATE: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
SUFFIXES = tuple(_NO_DATE)
_OF_NOTEBOOKS = (
    "inline",
    "ipympl",
    "widget",
)  # what is saved here is closed, and so not shown twice
DAGGER = "\u00a0†"  # behind a name, in the same line as its last word


def pyplot() -> Any:
    """Matplotlib without a screen, or as the notebook that is open shows it; two seconds to import,
    so not before it is needed.
    """
    import matplotlib

    if not any(name in str(matplotlib.get_backend(auto_select=False)) for name in _OF_NOTEBOOKS):
        matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def settings() -> Any:
    """The context in which every figure is made and saved: sizes that stay legible at a page's
    width.
    """
    return pyplot().rc_context(_SETTINGS)


def save(figure: Any, files: Sequence[Path], dpi: int = 200) -> None:
    """Writes a figure without a date, so that the same records give the same bytes, and closes
    it.
    """
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # once is enough, and takes most of the time
    for file in files:
        figure.savefig(file, dpi=dpi, metadata=_NO_DATE[file.suffix])
    pyplot().close(figure)


def named(variant: Variant) -> str:
    """Its name, in which a number says what it is of, with a dagger where it reveals the target
    length.
    """
    changed = f", {EVALUATED_WITH} {variant.override}" if variant.override else ""
    return (
        (SEPARATOR.join(labels(variant).values()) or variant.name)
        + changed
        + (DAGGER if variant.reveals_target_length else "")
    )


def labels(variant: Variant) -> dict[str, str]:
    """The labels in its name by axis: {"model.encodings": "rope", "train.max_length":
    "max_length=8"}.
    """
    parts = variant.name.removesuffix(f", {EVALUATED_WITH} {variant.override}").split(SEPARATOR)
    found: dict[str, str] = {}
    for axis, text in variant.labels.items():
        if text in parts[len(found) : len(found) + 1]:
            found[axis] = f"{axis.rpartition('.')[2]}={text}" if _is_value(text) else text
    return found if len(found) == len(parts) else {}


def _is_value(text: str) -> bool:
    """Whether a label says nothing without its axis: 8, 0.003, True, None."""
    return (
        text in ("True", "False", "None")
        or text.replace(".", "").replace("e-", "").replace("-", "").isdigit()
    )


def outcome(variant: Variant) -> str:
    """Number of seeds by outcome, such as 3/5 solved, 1 failed."""
    solved = (
        f"{variant.solved}/{len(variant.runs)} solved"
        if variant.solved
        else f"NOT SOLVED 0/{len(variant.runs)}"
    )
    bad = [(s, sum(r["status"] == s for r in variant.runs)) for s in ("diverged", "failed")]
    return ", ".join(
        [
            solved if variant.runs else "no run yet",
            *(f"{count} {status}" for status, count in bad if count),
        ]
    )


def caption(figure: Any, results: Results, *parts: str, reveals: bool = True) -> None:
    """A line above the figure: the study, and what its signs mean; `reveals`: names have a
    dagger.
    """
    words = " reveals the target length".replace(" ", "\u00a0")
    signs = (
        [f"†{words}"] if reveals and any(v.reveals_target_length for v in results.variants) else []
    )
    signs += (
        [f"without a record: {results.missing} {'run' if results.missing == 1 else 'runs'}"]
        if results.missing
        else []
    )
    text = "; ".join([*parts, *signs])
    width = int(figure.get_size_inches()[0] * 15)  # characters of a line
    figure.suptitle(textwrap.fill(f"{results.name}: {text}", width), fontsize=8)


def style(variant: Variant) -> styles.Style:
    """That of its encodings, as trained or as changed."""
    for run in variant.runs:
        specs = run["config"].get("model", {}).get("encodings")
        overrides = [
            row["override"]
            for row in run["rows"]
            if row["override"] and row["override"]["label"] == variant.override
        ]
        changed = overrides[0]["encodings"] if overrides and variant.override else None
        return styles.of_encodings(specs or () if changed is None else changed)
    return styles.NOPE


def centre(values: Sequence[Any]) -> Centre | None:
    """Of the seeds that have a value."""
    return statistics.centre([v for v in values if v is not None])


def point(variant: Variant, length: int, offset: int) -> Any:
    """The centre of exact match over seeds."""
    found = centre(variant.values(length, offset))
    return None if found is None else found.point


def centre_name(results: Results) -> str:
    """median, from ten seeds up interquartile mean, or both."""
    many = {len(v.finished) >= BOOTSTRAP_FROM for v in results.variants if v.finished}
    return " or ".join(
        name
        for name, holds in (("median", False in many), ("interquartile mean", True in many))
        if holds
    )


def known(points: Sequence[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    """Two lists of what has a value."""
    kept = [(x, y) for x, y in points if y is not None]
    return [x for x, _ in kept], [y for _, y in kept]


def length_axis(axis: Any, lengths: Sequence[int]) -> None:
    """Ticks where something was measured, a log scale where lengths span more than a factor of
    20.
    """
    place = math.log2 if lengths[-1] > 20 * lengths[0] else float
    if place is math.log2:
        axis.set_xscale("log", base=2)
    ticks: list[int] = []
    for n in lengths:
        if not ticks or place(n) - place(ticks[-1]) >= (place(lengths[-1]) - place(lengths[0])) / 9:
            ticks.append(n)
    axis.set_xticks(ticks, [str(n) for n in ticks])
    axis.minorticks_off()


def apart(results: Results) -> tuple[list[Variant], list[Variant]]:
    """Variants that may be ranked with each other, and those that reveal the target length."""
    reveals = [v.reveals_target_length for v in results.variants]
    return tuple(
        [v for v, t in zip(results.variants, reveals, strict=True) if t == which]
        for which in (False, True)
    )  # type: ignore[return-value]
