"""Shares of variance: how much of the spread of a number comes from each factor.

    components(values, ("encoding", "rate", "seed"))["encoding x rate"]
    share_intervals(values, ("encoding", "rate", "seed"), "seed")["encoding x rate"]

The model is a random-effects analysis of variance of a full grid with one number in each cell. The
component of a set of factors is the variance of its effect, by_set from the expected mean squares
(Searle, Casella and McCulloch 1992, "Variance Components", chapter 4). The component of all factors
together has the rounding and every other cause that the grid does not repeat. An estimate may be
negative, and it is shown as it is; a share counts it as 0.
"""

import itertools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from pe_lab.results import statistics
from pe_lab.results.statistics import Interval

JOIN = " x "  # between the factors of an interaction


def components(values: Float[np.ndarray, "*n"], factors: Sequence[str]) -> dict[str, float]:
    """Return the variance component of every factor and interaction.

    Args:
      values: one axis for each factor, with at least two levels.
      factors: the names of the axes.

    Raises:
      ValueError: a name is missing, an axis has one level, or a number is missing.
    """
    if values.ndim != len(factors):
        raise ValueError(f"{values.ndim} axes need as many factors, got {len(factors)}.")
    if min(values.shape) < 2:
        raise ValueError(f"Every factor needs two levels, got the shape {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("The grid has cells without a number.")
    axes = range(values.ndim)
    sets = [s for k in range(1, values.ndim + 1) for s in itertools.combinations(axes, k)]
    by_set: dict[tuple[int, ...], float] = {}
    # From the largest set to the smallest: a mean square holds the components of all larger sets.
    for part in reversed(sets):
        expected = _mean_square(values, part)
        for larger, component in by_set.items():
            if set(part) < set(larger):
                expected -= _repeats(values.shape, larger) * component
        by_set[part] = expected / _repeats(values.shape, part)
    return {JOIN.join(factors[axis] for axis in part): by_set[part] for part in sets}


def shares(values: Float[np.ndarray, "*n"], factors: Sequence[str]) -> dict[str, float]:
    """Return the share of each component in their sum; NaN if nothing varies."""
    positive = {name: max(0.0, c) for name, c in components(values, factors).items()}
    total = sum(positive.values())
    return {name: c / total if total else float("nan") for name, c in positive.items()}


def share_intervals(
    values: Float[np.ndarray, "*n"], factors: Sequence[str], drawn: str
) -> dict[str, Interval | None]:
    """Return the jackknife interval of every share, from 0 to 1 at most.

    None if nothing varies, also if this is so without one of the levels.

    A bootstrap would draw a level twice, which makes the components without repetition too small.

    Args:
      drawn: the factor whose levels are a sample, such as "seed", with at least three levels. The
        levels of the others are those of interest.
    """
    from scipy import stats  # slow to import

    axis = list(factors).index(drawn)
    num_levels = values.shape[axis]
    without_one = [shares(np.delete(values, level, axis), factors) for level in range(num_levels)]
    quantile = stats.t.ppf((1 + statistics.CONFIDENCE) / 2, num_levels - 1)
    intervals: dict[str, Interval | None] = {}
    for name, share in shares(values, factors).items():
        estimates = np.array([of_level[name] for of_level in without_one])
        half = quantile * (num_levels - 1) ** 0.5 * estimates.std()
        low, high = max(0.0, share - half), min(1.0, share + half)
        is_known = np.isfinite(half)
        intervals[name] = Interval(float(low), float(high), "jackknife") if is_known else None
    return intervals


def _mean_square(values: Float[np.ndarray, "*n"], part: tuple[int, ...]) -> float:
    """Return the mean square of the effect of some axes."""
    effect = np.zeros_like(values)
    for k in range(len(part) + 1):
        for axes in itertools.combinations(part, k):
            others = tuple(axis for axis in range(values.ndim) if axis not in axes)
            effect += (-1) ** (len(part) - k) * values.mean(axis=others, keepdims=True)
    degrees = np.prod([values.shape[axis] - 1 for axis in part])
    return float((effect**2).sum() / degrees)


def _repeats(shape: tuple[int, ...], part: tuple[int, ...]) -> int:
    """Return how many cells share one level of each factor of a set."""
    return int(np.prod([n for axis, n in enumerate(shape) if axis not in part], dtype=int))
