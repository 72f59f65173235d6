"""What trained models do at each length: lines, and maps of variants x lengths and lengths x
offsets.
"""

from collections.abc import Sequence
from typing import Any

from pe_lab.results.metrics import BITS
from pe_lab.results.plots import drawing, panels
from pe_lab.results.results import Results, Variant
from pe_lab.results.statistics import EXACT_FROM

_MAP = "cividis"  # dark to light for every reader, and in print
MOST_NUMBERS = 14  # columns of a map beyond which its cells are colours alone


def exact_match(results: Results) -> Any:
    """A panel a variant: seeds thin, their centre thick, its interval a band, dashed where training
    ended; not of a text.
    """
    if results.has_text:
        return None
    figure, axes = _by_length(results, "exact_match", "exact match")
    axes[0].set_ylim(-0.04, 1.04)
    axes[0].set_yticks([0, 0.5, 1])
    return figure


def bits_per_token(results: Results) -> Any:
    """The same of a text."""
    return _by_length(results, BITS, "bits a token")[0] if results.has_text else None


def _by_length(results: Results, metric: str, label: str) -> tuple[Any, list[Any]]:
    shown = panels.grouped(results.variants)
    figure, axes = panels.draw(shown)
    banded = [
        _lines(axis, results, variant, metric, panel.alone, dash)
        for axis, panel in zip(axes, shown, strict=True)
        for variant, dash in zip(panel.variants, panels.dashes(panel), strict=True)
    ]
    drawing.length_axis(axes[0], results.lengths)
    panels.below(figure, shown, f"length ({results.length_name})")
    figure.supylabel(label, fontsize=8)
    band = (
        "band: its interval (docs/statistics.md)"
        if any(banded)
        else f"under {EXACT_FROM} seeds no interval"
    )
    centre = drawing.centre_name(results)
    alone = (
        [f"thin lines are seeds, the thick one their {centre}", band]
        if shown[0].alone
        else [f"lines are the {centre} of seeds"]
    )
    hollow = [] if shown[0].alone else ["hollow: solved by no seed"]
    drawing.caption(figure, results, *alone, *hollow, "dashed: the longest training example")
    return figure, axes


def _lines(
    axis: Any, results: Results, variant: Variant, metric: str, alone: bool, dash: dict[str, Any]
) -> bool:
    """The centre; where a variant is alone its seeds and the interval too. True if there is one."""
    style, offset = drawing.style(variant), results.offsets[0]
    values = {n: variant.values(n, offset, metric) for n in results.lengths}
    centres = {n: c for n in results.lengths if (c := drawing.centre(values[n])) is not None}
    face = style.color if alone or variant.solved else "white"
    points = [c.point for c in centres.values()]
    axis.plot(
        list(centres),
        points,
        color=style.color,
        marker=style.marker,
        markerfacecolor=face,
        zorder=3,
        **dash,
    )
    for length in [variant.max_length] if variant.finished else results.max_lengths:
        axis.axvline(length, color="0.25", linestyle="--", linewidth=1, zorder=1)
    if not alone:
        return False
    for i in range(len(variant.runs)):
        axis.plot(
            *drawing.known([(n, values[n][i]) for n in results.lengths]),
            color=style.color,
            linewidth=0.8,
            alpha=0.75,
        )
    bands = {n: c.interval for n, c in centres.items() if c.interval}
    low, high = [i.low for i in bands.values()], [i.high for i in bands.values()]
    axis.fill_between(list(bands), low, high, color=style.color, alpha=0.2, linewidth=0)
    return bool(bands)


def heat_map(results: Results) -> Any:
    """Variants x lengths; those that reveal the target length below the others."""
    return None if results.has_text else _maps(results, results.offsets[:1])


def length_by_offset(results: Results) -> Any:
    """A map a variant of lengths x offsets of all positions; of many variants, a map an offset of
    variants x lengths.
    """
    if len(results.offsets) < 2 or results.has_text:
        return None
    if len(results.variants) > panels.MOST:
        return _maps(results, results.offsets)
    figure, axes = panels.draw(
        panels.each(results.variants), height=0.62 + 0.17 * len(results.offsets)
    )
    for axis, variant in zip(axes, results.variants, strict=True):
        image = draw_map(
            axis,
            [
                [drawing.point(variant, n, offset) for n in results.lengths]
                for offset in results.offsets
            ],
        )
        axis.set_xticks(range(len(results.lengths)), results.lengths)
        axis.set_yticks(range(len(results.offsets)), results.offsets)
        _training_ends(axis, results, [variant] * len(results.offsets))
    figure.supxlabel(f"length ({results.length_name})", fontsize=8)
    figure.supylabel("offset of all positions", fontsize=8)
    _legend(figure, image, axes, results)
    return figure


def _maps(results: Results, offsets: Sequence[int]) -> Any:
    """Side by side, of variants x lengths."""
    ranked, revealing = drawing.apart(results)
    variants = ranked + revealing
    size = (
        max(drawing.WIDTH, 2.6 + 0.42 * len(results.lengths) * len(offsets)),
        1.1 + 0.2 * len(variants),
    )
    figure, axes = drawing.pyplot().subplots(
        1, len(offsets), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, offset in zip(axes.flat, offsets, strict=True):
        image = draw_map(
            axis, [[drawing.point(v, n, offset) for n in results.lengths] for v in variants]
        )
        axis.set_xticks(range(len(results.lengths)), results.lengths)
        _training_ends(axis, results, variants)
        if ranked and revealing:
            axis.axhline(len(ranked) - 0.5, color="white", linewidth=5)
        axis.set_xlabel(f"length ({results.length_name})")
        axis.set_title(f"positions shifted by {offset}" if len(offsets) > 1 else "")
    axes[0, 0].set_yticks(
        range(len(variants)), [f"{drawing.named(v)}   {drawing.outcome(v)}" for v in variants]
    )
    _legend(figure, image, axes, results)
    return figure


def draw_map(
    axis: Any, values: Sequence[Sequence[Any]], signs: Sequence[Sequence[str]] | None = None
) -> Any:
    """Colours from 0 to 1 with their numbers and the signs behind these, where there is room; white
    without a number.
    """
    rows = [[float("nan") if v is None else v for v in row] for row in values]
    image = axis.imshow(rows, cmap=_MAP, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axis.grid(visible=False)
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    for y, row in enumerate(values if len(values[0]) <= MOST_NUMBERS else ()):
        for x, value in enumerate(row):
            color = "black" if value is None or value > 0.5 else "white"
            text = "–" if value is None else f"{value:.2f}{signs[y][x] if signs else ''}"
            axis.text(
                x, y, text, ha="center", va="center", color=color, fontsize=min(6.5, 32 / len(row))
            ).set_in_layout(False)
    return image


def _training_ends(axis: Any, results: Results, variants: Sequence[Variant]) -> None:
    """A line in each row, behind the longest training example."""
    places = [
        (row, sum(n <= v.max_length for n in results.lengths) - 0.5)
        for row, v in enumerate(variants)
        if v.finished
    ]
    for color, width in (("white", 3.5), ("black", 1.5)):
        axis.vlines(
            [x for _, x in places],
            [y - 0.5 for y, _ in places],
            [y + 0.5 for y, _ in places],
            color=color,
            linewidth=width,
        )


def _legend(figure: Any, image: Any, axes: Any, results: Results) -> None:
    shrink = min(1.0, 6 / figure.get_size_inches()[1])  # of a tall map
    figure.colorbar(
        image,
        ax=axes,
        label="exact match",
        aspect=40 * shrink,
        shrink=shrink,
        anchor=(0, 1),
        pad=0.02,
    )
    drawing.caption(
        figure,
        results,
        f"exact match, {drawing.centre_name(results)} of seeds",
        "thick line: end of training",
        "–: no number",
    )
