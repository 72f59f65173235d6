"""Information about a target that a model has before it predicts it."""

from typing import Literal

from pe_lab.positions.base import PositionScheme
from pe_lab.tasks.base import Task
from pe_lab.tasks.layouts import Layout
from pe_lab.training.setup import Setup


def revealed(
    task: Task, layout: Layout, scheme: PositionScheme
) -> Literal["length", "answer"] | None:
    """Return the part of a target that positions reveal: its length, its answer, or None."""
    # A structure may reveal the answer, which is worse than its length, so it is asked first.
    by_structure = None
    if scheme.follows is not None:
        by_structure = task.reveals(scheme.follows, layout.causal)
    if by_structure is None and scheme.reads_length:
        return "length"
    return by_structure


def reveals_target_length(setup: Setup) -> bool:
    """Return whether the layout, positions that are read, or an encoding reveal the length."""
    reads_length = any(p.encoding.requirements.reads_length for p in setup.placements)
    if setup.layout.reveals_target_length or reads_length:
        return True
    return bool(revealing_schemes(setup, "answer") or revealing_schemes(setup, "length"))


def revealing_schemes(setup: Setup, what: Literal["length", "answer"]) -> list[str]:
    """Return the names of the schemes that encodings read and that reveal this."""
    indices = {p.site.scheme for p in setup.placements if p.reads_positions}
    names = []
    for index in sorted(indices):
        if revealed(setup.task, setup.layout, setup.schemes[index]) == what:
            names.append(setup.scheme_names[index])
    return names
