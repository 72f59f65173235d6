"""Exact match against length: one panel a variant, one line a seed."""

import math
import textwrap
from pathlib import Path

from pe_lab.analysis.results import Results, Variant

_COLUMNS = (4, 5)  # the one that leaves fewer places empty


def write(results: Results, folder: Path) -> Path | None:
    """Draws folder/exact_match.png; None if nothing has finished."""
    if not results.finished:
        return None
    import matplotlib  # two seconds to import: not before it is needed

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(min(_COLUMNS, key=lambda c: -len(results.variants) % c), len(results.variants))
    lines = math.ceil(len(results.variants) / columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(2.9 * columns, 2.1 * lines + 0.6), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(results.variants) :]:
        axis.axis("off")
    for axis in axes.flat[max(len(results.variants) - columns, 0) : len(results.variants)]:
        axis.tick_params(labelbottom=True)  # the last panel of each column
    for axis, variant in zip(axes.flat, results.variants, strict=False):
        _panel(axis, results, variant)
    figure.supxlabel(f"length ({results.length_name})")
    figure.supylabel("exact match")
    knows = "; † told the answer's length" if any(v.target_length_known for v in results.variants) else ""
    figure.suptitle(f"{results.name}: thin lines are seeds, the thick one their mean, dashed the training length{knows}", fontsize=10)
    path = folder / "exact_match.png"
    figure.savefig(path, dpi=130, metadata={"Software": None})
    pyplot.close(figure)
    return path


def _panel(axis, results: Results, variant: Variant) -> None:
    offset = results.offsets[0]
    for i in range(len(variant.runs)):
        points = [(n, variant.values(n, offset)[i]) for n in results.lengths]
        axis.plot(*_known(points), color="tab:blue", linewidth=0.8, alpha=0.6, marker=".", markersize=3)
    axis.plot(*_known([(n, variant.mean(n, offset)) for n in results.lengths]), color="tab:blue", linewidth=2.2)
    for length in [variant.max_length] if variant.finished else results.max_lengths:
        axis.axvline(length, color="0.4", linestyle="--", linewidth=1)
    learnt = f"{variant.learnt}/{len(variant.runs)} learnt"
    mark = " †" if variant.target_length_known else ""
    axis.set_title(f"{textwrap.fill(variant.name + mark, 44)}\n{learnt}", fontsize=8, color="black" if variant.learnt else "tab:red")
    axis.set_ylim(-0.04, 1.04)
    axis.grid(alpha=0.25)


def _known(points: list) -> tuple[list, list]:
    kept = [(n, v) for n, v in points if v is not None]
    return [n for n, _ in kept], [v for _, v in kept]
