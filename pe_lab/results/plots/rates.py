"""What the learning rate does: exact match within and beyond training, and the rate that validation
chooses.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from pe_lab.results import metrics, selection, statistics
from pe_lab.results.plots import drawing, panels, styles
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import Metric

_AXIS = "train.learning_rate"


def learning_rate(results: Results) -> Any:
    """A panel for all variants that differ in their rate alone; None where rates do not vary."""
    chosen = selection.chosen(
        dataclasses.replace(results, spec=dataclasses.replace(results.spec, tuned=(_AXIS,)))
    )
    variants = [v for v in chosen.variants if len(_rates(v)) > 1 and v.finished]
    if not variants:
        return None
    extrapolation = results.spec.extrapolation
    shown = (
        (Metric("in_distribution"), ()),
        (Metric("exact_match", extrapolation.point), styles.DASHES[1]),
    )
    figure, axes = panels.draw(panels.each(variants))
    for axis, variant in zip(axes, variants, strict=True):
        for metric, dash in shown:
            _sensitivity(axis, variant, metric, dash)
        axis.axvline(
            variant.runs[0]["member"]["learning_rate"],
            color="0.25",
            linestyle=":",
            linewidth=1.2,
            zorder=1,
        )
        axis.set_ylim(-0.04, 1.04)
        axis.set_yticks([0, 0.5, 1])
    axes[0].set_xscale("log")
    ticks = sorted({rate for v in variants for rate in _rates(v)})
    axes[0].set_xticks(ticks, [f"{rate:g}" for rate in ticks])
    axes[0].minorticks_off()
    figure.supxlabel("peak learning rate", fontsize=8)
    figure.supylabel("exact match", fontsize=8)
    meaning = (
        "solid: up to the training length",
        f"dashed: {extrapolation.point}",
        "dotted: the rate of least validation loss",
    )
    drawing.caption(
        figure,
        results,
        "exact match against learning rate, dots are seeds, lines their median",
        *meaning,
    )
    return figure


def _rates(variant: Variant) -> list[float]:
    return sorted({r["member"]["learning_rate"] for c in variant.candidates for r in c.runs})


def _sensitivity(axis: Any, variant: Variant, metric: Metric, dash: Sequence[float]) -> None:
    """Every seed a dot, the medians joined."""
    style, middle = drawing.style(variant), []
    for candidate in sorted(
        (c for c in variant.candidates if c.runs),
        key=lambda c: c.runs[0]["member"]["learning_rate"],
    ):
        rate = candidate.runs[0]["member"]["learning_rate"]
        values = [v for run in candidate.measured if (v := metrics.value(run, metric)) is not None]
        face = "white" if dash else style.color
        axis.plot(
            [rate] * len(values),
            values,
            linestyle="",
            marker="o",
            markersize=2.5,
            color=style.color,
            markerfacecolor=face,
        )
        middle.append((rate, statistics.median(values)))
    axis.plot(*drawing.known(middle), color=style.color, **({"dashes": dash} if dash else {}))
