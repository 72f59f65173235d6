"""One number a run: how many extrapolate, what accuracy costs, and what the learning rate does to
it.
"""

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from pe_lab.results import metrics, statistics
from pe_lab.results.metrics import Measured
from pe_lab.results.plots import drawing, panels
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import Metric

_COSTS = {
    "train_flops": "FLOPs a run",
    "parameters": "parameters",
}
_SMALL = 2.5  # marks of seeds
_ALIKE = 1.1  # costs that differ by less say nothing
_RATE = "train.learning_rate"


def extrapolation(results: Results) -> Any:
    """A line a variant: the share of its runs that are solved, and that extrapolate, with
    Wilson's interval.
    """
    ranked, revealing = drawing.apart(results)
    variants = [v for v in ranked + revealing if v.runs]
    criterion = results.spec.extrapolation
    asked: list[tuple[str, Callable[[Measured], bool | None]]] = [("solved", _solved)]
    asked += [(str(criterion), lambda run: metrics.extrapolates(run, criterion))]
    figure, axes = drawing.pyplot().subplots(
        1,
        len(asked),
        figsize=(drawing.WIDTH, 1.1 + 0.2 * len(variants)),
        sharey=True,
        layout="constrained",
    )
    for axis, (title, holds) in zip(axes, asked, strict=True):
        for row, variant in enumerate(variants):
            _share(
                axis,
                row,
                variant,
                [known for run in variant.measured if (known := holds(run)) is not None],
            )
        if revealing and ranked:
            axis.axhline(len(ranked) - 0.5, color="0.5", linewidth=0.8)
        axis.set_title(textwrap.fill(title, 38))
        axis.set_xlim(-0.03, 1.2)
        axis.set_xticks([0, 0.25, 0.5, 0.75, 1])
        axis.set_xlabel("share of runs")
    axes[0].set_yticks(range(len(variants)), [drawing.named(v) for v in variants])
    axes[0].set_ylim(len(variants) - 0.5, -0.5)
    drawing.caption(figure, results, "runs that extrapolate, with the 95 % interval of Wilson")
    return figure


def _solved(run: Measured) -> bool | None:
    return None if run.record["status"] == "failed" else metrics.solved(run.record)


def _share(axis: Any, row: int, variant: Variant, outcomes: Sequence[bool]) -> None:
    interval = statistics.wilson(sum(outcomes), len(outcomes))
    if interval is None:
        axis.text(0, row, "not measured", va="center", fontsize=6.5, color="0.3")
        return
    style = drawing.style(variant)
    axis.plot(
        [interval.low, interval.high],
        [row, row],
        color=style.color,
        solid_capstyle="butt",
        linewidth=2.2,
        alpha=0.55,
    )
    axis.plot(
        [sum(outcomes) / len(outcomes)],
        [row],
        color=style.color,
        marker=style.marker,
        markersize=5.5,
    )
    axis.text(1.06, row, f"{sum(outcomes)}/{len(outcomes)}", va="center", fontsize=6.5)


def cost(results: Results) -> Any:
    """A panel a cost that differs between variants: exact match beyond training against it, seeds
    small, their centre large.

    None of more variants than a reader can tell apart in one panel.
    """
    asked = Metric("auc")
    variants = [v for v in results.variants if _known(v, asked)]
    if not variants:
        asked = Metric("in_distribution")
        variants = [v for v in results.variants if _known(v, asked)]
    costs = [
        name
        for name in _COSTS
        if _differs([c for v in variants if (c := _paid(v, name)) is not None])
    ]
    if not costs or len(variants) > panels.MOST:
        return None
    names = [
        f"{i}  {drawing.named(v)} ({len(_known(v, asked))})"
        for i, v in enumerate(variants, start=1)
    ]
    columns = max(1, min(4, 112 // (max(map(len, names)) + 6), len(names)))
    size = (drawing.WIDTH, 2.8 + 0.16 * math.ceil(len(names) / columns))
    figure, axes = drawing.pyplot().subplots(
        1, len(costs), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    from matplotlib import ticker

    for axis, name in zip(axes.flat, costs, strict=True):
        middles = [_point(axis, variant, name, asked) for variant in variants]
        for numbers, place in _together(middles):
            axis.annotate(
                ", ".join(map(str, numbers)),
                place,
                (4, 3),
                textcoords="offset points",
                fontsize=6.5,
            )
        axis.set_xlabel(_COSTS[name])
        axis.xaxis.set_major_locator(ticker.MaxNLocator(4 if len(costs) > 1 else 8))
        axis.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
        axis.set_ylim(-0.04, 1.06)
    axes[0, 0].set_ylabel("exact match")
    marks = [line for line in axes[0, 0].lines if line.get_markersize() > _SMALL]
    figure.legend(marks, names, loc="outside lower center", ncols=columns, columnspacing=1.2)
    without = [v.name for v in results.variants if v not in variants]
    notes = [f"no such number: {', '.join(without)}"] if without else []
    marks_mean = (
        "small marks are seeds, large ones their median",
        "hollow: solved by no seed",
        "(n): seeds",
    )
    drawing.caption(
        figure, results, f"mean exact match {_OF[asked.name]} against cost", *marks_mean, *notes
    )
    return figure


_OF = {"auc": "from 1 to 2× the training length", "in_distribution": "up to the training length"}


def _known(variant: Variant, asked: Metric) -> list[Measured]:
    """Runs that have the metric and say what they cost."""
    return [
        run
        for run in variant.measured
        if run.record["cost"] and metrics.value(run, asked) is not None
    ]


def _paid(variant: Variant, name: str) -> Any:
    return statistics.median(
        [run.record["cost"][name] for run in variant.measured if run.record["cost"]]
    )


def _differs(costs: Sequence[Any]) -> bool:
    return len(costs) > 1 and max(costs) > _ALIKE * min(costs)


def _point(axis: Any, variant: Variant, name: str, asked: Metric) -> tuple[Any, Any]:
    """Its seeds, and its median, which is returned."""
    style, runs = drawing.style(variant), _known(variant, asked)
    x, y = [run.record["cost"][name] for run in runs], [metrics.value(run, asked) for run in runs]
    axis.plot(
        x, y, linestyle="", color=style.color, marker=style.marker, markersize=_SMALL, alpha=0.6
    )
    middle = statistics.median(x), statistics.median(y)
    face = style.color if variant.solved else "white"
    axis.plot(
        *([v] for v in middle),
        linestyle="",
        color=style.color,
        marker=style.marker,
        markersize=6.5,
        markerfacecolor=face,
    )
    return middle


def _together(points: Sequence[tuple[Any, Any]]) -> list[tuple[list[int], tuple[Any, Any]]]:
    """Numbers of points from 1 on, those that nearly coincide together, so that no number hides
    another.
    """
    span = max(x for x, _ in points) - min(x for x, _ in points)
    found: list[tuple[list[int], tuple[Any, Any]]] = []
    for number, (x, y) in enumerate(points, start=1):
        near = (
            numbers
            for numbers, at in found
            if abs(x - at[0]) <= span / 50 and abs(y - at[1]) <= 0.05
        )
        if (numbers := next(near, None)) is None:
            found.append(([number], (x, y)))
        else:
            numbers.append(number)
    return found
