"""Statistics of comparison."""

import math
from collections.abc import Iterable


def mean(values: Iterable[float]) -> float | None:
    """The arithmetic mean; None of nothing."""
    values = list(values)
    return math.fsum(values) / len(values) if values else None


def floor_corrected(accuracy: float, floor: float) -> float | None:
    """How much of the way from a floor to 1 an accuracy is: 0 at the floor, below 0 under it; None where the floor is 1.

    Args:
      floor: what is reached without seeing any prompt.
    """
    return None if floor >= 1 else (accuracy - floor) / (1 - floor)
