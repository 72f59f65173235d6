"""Small pictures side by side: a panel a variant; of a large study a panel for all encodings that
agree in everything else.
"""

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pe_lab.results.plots import drawing, styles
from pe_lab.results.results import Variant
from pe_lab.runs.analysis_spec import SEPARATOR

_COLUMNS = (4, 3)  # where they follow no axis: the one that leaves fewer places empty
MOST = 24  # variants that have a panel each
_AXIS = "model.encodings"


@dataclass(frozen=True)
class Panel:
    """What is drawn into one."""

    title: str
    variants: tuple[Variant, ...]

    @property
    def alone(self) -> bool:
        return len(self.variants) == 1

    @property
    def solved(self) -> bool:
        return any(v.solved for v in self.variants)


def each(variants: Sequence[Variant]) -> list[Panel]:
    """One a variant, named with how many of its runs are solved."""
    return [Panel(f"{drawing.named(v)}\n{drawing.outcome(v)}", (v,)) for v in variants]


def grouped(variants: Sequence[Variant]) -> list[Panel]:
    """One a variant; of many variants, their encodings together."""
    if len(variants) <= MOST or len({v.labels.get(_AXIS) for v in variants}) < 2:
        return each(variants)
    groups: dict[str, list[Variant]] = {}
    for variant in variants:
        parts = drawing.labels(variant)
        groups.setdefault(
            SEPARATOR.join(text for axis, text in parts.items() if axis != _AXIS), []
        ).append(variant)
    return [
        Panel(name + (drawing.DAGGER if any(v.reveals_target_length for v in g) else ""), tuple(g))
        for name, g in groups.items()
    ]


def draw(panels: Sequence[Panel], height: float = 1.45) -> tuple[Any, list[Any]]:
    """A figure of them, in columns along the axis of the sweep that changes fastest; grey where no
    seed solved the training lengths.
    """
    columns = _columns([panel.title.partition("\n")[0] for panel in panels])
    lines = math.ceil(len(panels) / columns)
    size = (
        drawing.WIDTH if columns > 2 else drawing.WIDTH * (0.3 + 0.3 * columns),
        height * lines + 0.75,
    )
    figure, axes = drawing.pyplot().subplots(
        lines, columns, figsize=size, squeeze=False, layout="constrained", sharex=True, sharey=True
    )
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis in axes.flat[max(len(panels) - columns, 0) : len(panels)]:
        axis.tick_params(labelbottom=True)  # the last panel of each column
    for axis, panel in zip(axes.flat, panels, strict=False):
        lines_of_title = (
            textwrap.fill(line, int(size[0] / columns * 15), break_long_words=False)
            for line in panel.title.split("\n")
        )
        axis.set_title("\n".join(lines_of_title), fontsize=7)
        if not panel.solved:
            axis.set_facecolor("0.93")
            axis.grid(color="1")
    return figure, list(axes.flat[: len(panels)])


def _columns(names: Sequence[str]) -> int:
    """As many as the last axis has values, where all that is before it has all of them; else what
    fills lines best.
    """
    groups = [
        len(list(group))
        for _, group in itertools.groupby(names, lambda name: name.rpartition(SEPARATOR)[0])
    ]
    if len(groups) > 1 and len(set(groups)) == 1 and 2 <= groups[0] <= 5:
        return groups[0]
    return min(min(_COLUMNS, key=lambda c: -len(names) % c), len(names))


def below(figure: Any, panels: Sequence[Panel], label: str) -> None:
    """What the horizontal axis is and, where several encodings stand in a panel, which line is
    which.
    """
    if all(panel.alone for panel in panels):
        figure.supxlabel(label, fontsize=8)
        return
    line = drawing.pyplot().Line2D
    found = {
        v.labels.get(_AXIS, v.name): drawing.style(v) for panel in panels for v in panel.variants
    }
    looks = zip(found.items(), styles.dashes(list(found.values())), strict=True)
    handles = [
        line(
            [], [], color=s.color, marker=s.marker, label=name, **({"dashes": dash} if dash else {})
        )
        for (name, s), dash in looks
    ]
    columns = max(1, min(6, 90 // (max(map(len, found)) + 6)))
    figure.legend(
        handles=handles, title=label, title_fontsize=8, loc="outside lower center", ncols=columns
    )


def dashes(panel: Panel) -> list[dict[str, Any]]:
    """For the lines of a panel: solid, but for those of one style."""
    found = styles.dashes([drawing.style(v) for v in panel.variants])
    return [{"dashes": dash} if dash else {} for dash in found]
