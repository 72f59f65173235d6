"""Statistics of comparison."""

import math
from collections.abc import Iterable


def mean(values: Iterable[float]) -> float | None:
    """The arithmetic mean; None of nothing."""
    values = list(values)
    return math.fsum(values) / len(values) if values else None
