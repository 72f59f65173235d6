"""Information about a target that its positions reveal before the model predicts it."""

from typing import Literal

from pe_lab.positions.base import PositionScheme
from pe_lab.tasks.base import Task
from pe_lab.tasks.layouts import Layout


def revealed(
    task: Task, layout: Layout, scheme: PositionScheme
) -> Literal["length", "answer"] | None:
    """Return the part of a target that positions reveal: its length, its answer, or None."""
    by_structure = None
    if scheme.follows is not None:
        by_structure = task.reveals(scheme.follows, layout.causal)
    if by_structure is None and scheme.reads_length:
        return "length"
    return by_structure
