"""One picture an encoding, made of the panels that its kind has, and two that compare several."""

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pe_lab.inspection import measurements, panels, similarity
from pe_lab.inspection.untrained import UntrainedEncoding
from pe_lab.results.plots import drawing, styles

_PANELS: dict[str | None, tuple[Callable[[Any, UntrainedEncoding], None], ...]] = {
    "code": (panels.heat_map, panels.similarity_matrix, panels.similarity_by_distance, panels.path),
    "turn": (panels.turning_pair, panels.cosines, panels.periods, panels.turned_query),
    "bias": (panels.bias_by_head, panels.attention_left, panels.reach),
    "content": (panels.logits_of_draws, panels.mean_logit),
    None: (panels.attention_of_random_tokens,),
}


def draw(probe: UntrainedEncoding, files: Sequence[Path], dpi: int = 200) -> None:
    """Writes the picture of one encoding, to each file in the format that its name ends in."""
    parts = _PANELS[probe.kind]
    if probe.kind == "turn" and measurements.frequencies(probe) is None:
        parts = (panels.turned_query,)
    if probe.kind == "bias" and "bias" not in probe.hooks:
        parts = parts[1:]  # a mask alone
    columns = 2 if len(parts) in (2, 4) else len(parts)
    lines = len(parts) // columns
    with drawing.settings():
        size = (drawing.WIDTH, 2.6 * lines + 0.3) if columns > 1 else (drawing.WIDTH * 0.6, 2.6)
        figure, axes = drawing.pyplot().subplots(
            lines, columns, figsize=size, squeeze=False, layout="constrained"
        )
        for axis, part in zip(axes.flat, parts, strict=True):
            part(axis, probe)
            axis.set_title(textwrap.fill(axis.get_title(), 96 // columns))
        heads = axes.flat[-1].get_legend_handles_labels()
        if probe.kind in ("bias", None):
            figure.legend(*heads, loc="outside lower center", ncols=8 if columns > 1 else 3)
        figure.suptitle(
            f"{probe.name}: {probe.length} positions, width {probe.width}, {probe.num_heads} "
            f"heads, untrained"
        )
        drawing.save(figure, files, dpi=dpi)


def draw_paths(probes: Sequence[UntrainedEncoding], files: Sequence[Path], dpi: int = 200) -> None:
    """The paths of neighbouring codes side by side: what jumps beside what flows."""
    columns = min(len(probes), 3)
    lines = -(-len(probes) // columns)
    with drawing.settings():
        size = (drawing.WIDTH, 2.4 * lines + 0.4)
        figure, axes = drawing.pyplot().subplots(
            lines, columns, figsize=size, squeeze=False, layout="constrained"
        )
        for axis, probe in zip(axes.flat, probes, strict=False):
            panels.path(axis, probe, title=probe.name)
        for axis in axes.flat[len(probes) :]:
            axis.axis("off")
        figure.suptitle(
            "Each position's code, joined to the next one's (0 dark, later lighter), in the plane "
            "where they differ most"
        )
        drawing.save(figure, files, dpi=dpi)


def draw_similarities(
    probes: Sequence[UntrainedEncoding], files: Sequence[Path], dpi: int = 200
) -> None:
    """Similarity against distance of codes and rotations in one picture, each 1 at distance 0."""
    with drawing.settings():
        figure, axis = drawing.pyplot().subplots(figsize=(drawing.WIDTH, 3.2), layout="constrained")
        shown = [styles.of_name(probe.spec["name"]) for probe in probes]
        for probe, style, dashes in zip(
            probes, shown, styles.dashes([style.color for style in shown]), strict=True
        ):
            E = probe.table(probe.length) if probe.kind == "code" else None
            curve = (
                measurements.kernel(probe, probe.length).mean(axis=0)
                if E is None
                else similarity.by_offset(similarity.gram(E))
            )
            every = max(1, probe.length // 8)
            axis.plot(
                curve / (curve[0] or 1.0),
                color=style.color,
                marker=style.marker,
                markevery=every,
                dashes=dashes or (None, None),
                label=probe.name,
            )
        axis.axhline(0, color="0.6", linewidth=1)
        axis.set(xlabel="distance in positions", ylabel="similarity (1: with itself)")
        axis.set_title(
            "How alike two positions are, by how far apart they stand: a line that falls tells "
            "near from far",
            loc="left",
        )
        axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
        drawing.save(figure, files, dpi=dpi)


def comparable(
    probes: Sequence[UntrainedEncoding],
) -> tuple[list[UntrainedEncoding], list[UntrainedEncoding]]:
    """Those that have a path, and those that have a similarity against distance."""
    return [p for p in probes if p.kind == "code"], [
        p for p in probes if p.kind in ("code", "turn")
    ]
