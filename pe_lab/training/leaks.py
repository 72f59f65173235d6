"""What the positions of a target tell a model before it says the target."""

from typing import Literal

from pe_lab.positions.base import PositionScheme
from pe_lab.tasks.base import Task
from pe_lab.tasks.layouts import Layout


def revealed(
    task: Task, layout: Layout, scheme: PositionScheme
) -> Literal["length", "answer"] | None:
    """Return what positions reveal of a target: its length, tokens of the answer, or nothing."""
    by_structure = None
    if scheme.follows is not None:
        by_structure = task.reveals(scheme.follows, layout.causal)
    if by_structure is None and scheme.reads_length:
        return "length"
    return by_structure
