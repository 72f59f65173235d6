"""What happened while models trained: exact match at a few lengths, within and beyond training, and
the loss.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pe_lab.results import statistics
from pe_lab.results.plots import drawing, panels, styles
from pe_lab.results.results import Results, Variant

_SEEDS = "thick lines are medians of seeds, thin ones seeds where there is room"
_Curve = Mapping[int, Any]  # step -> value


def exact_match(results: Results) -> Any:
    """Lines for each length of the curve: solid up to the training length, dashed beyond."""
    lengths = sorted(
        {int(n) for r in results.finished for point in r["curve"] for n in point["exact_match"]}
    )
    if not lengths or results.has_text:
        return None

    def curves(variant: Variant) -> dict[str, list[_Curve]]:
        within = sorted(n for n in lengths if n <= variant.max_length)[-1:]
        beyond = [n for n in lengths if n > variant.max_length]
        return {
            str(n): [
                {p["step"]: p["exact_match"].get(str(n)) for p in r["curve"]}
                for r in variant.finished
            ]
            for n in within + beyond
        }

    figure, axes = _figure(results, curves)
    axes[0].set_ylim(-0.04, 1.04)
    axes[0].set_yticks([0, 0.5, 1])
    figure.supylabel("validation exact match", fontsize=8)
    beyond = sorted({n for n in lengths if n > min(results.max_lengths)})
    meaning = (
        f"dashed: longer than training ({', '.join(map(str, beyond))})"
        if beyond
        else "nothing longer was watched"
    )
    drawing.caption(
        figure,
        results,
        _SEEDS,
        "solid: the longest length within training that was watched",
        meaning,
    )
    return figure


def loss(results: Results) -> Any:
    """The training loss, on a log scale."""
    if not any(p["loss"] for r in results.finished for p in r["curve"]):
        return None
    figure, axes = _figure(
        results,
        lambda variant: {
            "": [{p["step"]: p["loss"] for p in r["curve"]} for r in variant.finished]
        },
    )
    axes[0].set_yscale("log")
    figure.supylabel("training loss (nats a token)", fontsize=8)
    drawing.caption(figure, results, _SEEDS)
    return figure


def _figure(
    results: Results, curves: Callable[[Variant], dict[str, list[_Curve]]]
) -> tuple[Any, list[Any]]:
    """Panels of curves by training step; the first of each variant is solid."""
    variants = [
        v for v in results.variants if v.override is None and any(r["curve"] for r in v.finished)
    ]
    shown = panels.grouped(variants)
    figure, axes = panels.draw(shown)
    for axis, panel in zip(axes, shown, strict=True):
        for variant in panel.variants:
            for i, found in enumerate(curves(variant).values()):
                _draw(axis, variant, found, styles.DASHES[i % len(styles.DASHES)], panel.alone)
    panels.below(figure, shown, "training step")
    return figure, axes


def _draw(
    axis: Any, variant: Variant, curves: Sequence[_Curve], dash: Sequence[float], alone: bool
) -> None:
    """One line a seed, where a variant is alone, and their median at the steps that all of them
    have.
    """
    color, dashes = drawing.style(variant).color, {"dashes": dash} if dash else {}
    for curve in curves if alone else ():
        axis.plot(
            *drawing.known(list(curve.items())),
            color=color,
            linewidth=0.7,
            marker=".",
            markersize=2,
            alpha=0.6,
            **dashes,
        )
    common = [s for s in curves[0] if all(c.get(s) is not None for c in curves)]
    axis.plot(
        common,
        [statistics.median([c[s] for c in curves]) for s in common],
        color=color,
        marker=".",
        **dashes,
    )
