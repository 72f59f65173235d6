"""Statistics of comparison. The unit is the seed, and the number of seeds limits the interval.

    seeds      interval of the center                      center
    under 5    none: the table shows every seed            median
    5 to 9     exact, from order statistics                median
    10 and up  BCa bootstrap, stratified by task           interquartile mean

docs/statistics.md has the measured coverage of each interval. Random numbers come from a fixed
seed, so the same records give the same table. scipy.stats is imported where it is used, because
that takes two seconds.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Number = int | float
Array = NDArray[np.float64]
Values = Sequence[Number] | Sequence[Sequence[Number]] | Array

CONFIDENCE = 0.95
EXACT_FROM, BOOTSTRAP_FROM = 5, 10  # seeds
RESAMPLES = 4000
_QUANTILE = 1.959963984540054  # of the normal distribution, for 95 %

# Share of studies whose interval contains the true value, by number of seeds: simulated, and for
# Wilson's interval the exact mean over true rates.
_SEEDS = (5, 6, 7, 8, 9, 10, 12, 15, 20, 30)
_WILSON = (0.96, 0.96, 0.96, 0.96, 0.95, 0.96, 0.96, 0.95, 0.95, 0.95)
_ORDER = (0.94, 0.97, 0.98, 0.99, 0.97, 0.98, 0.96, 0.97, 0.95, 0.95)
_T = (0.92, 0.94, 0.94, 0.94, 0.92, 0.93, 0.95, 0.95, 0.94, 0.94)
_PERCENTILE = (0.88, 0.91, 0.89, 0.88, 0.90, 0.91, 0.93, 0.93, 0.93, 0.93)
_BCA = (0.92, 0.95, 0.92, 0.93, 0.92)
MEASURED: dict[str, dict[int, float]] = {
    "wilson": {3: 0.96, **dict(zip(_SEEDS, _WILSON, strict=True))},
    "order statistics": dict(zip(_SEEDS, _ORDER, strict=True)),
    "t": dict(zip(_SEEDS, _T, strict=True)),
    "percentile": {3: 0.71, **dict(zip(_SEEDS, _PERCENTILE, strict=True))},
    "BCa": dict(zip(_SEEDS[5:], _BCA, strict=True)),
}


@dataclass(frozen=True)
class Interval:
    """An interval of a true value."""

    low: float
    high: float
    # wilson, order statistics, t, BCa, percentile, jackknife, constant
    kind: str


@dataclass(frozen=True)
class Center:
    """The center of the values of several seeds. Few seeds have no interval."""

    point: float
    name: str  # median, interquartile mean
    interval: Interval | None


def mean(values: Iterable[Number]) -> float | None:
    """Return the arithmetic mean; None without values."""
    numbers = list(values)
    if not numbers:
        return None
    # The sum of np.mean depends on the order of the seeds.
    return math.fsum(numbers) / len(numbers)


def deviation(values: Sequence[Number]) -> float | None:
    """Return the sample standard deviation; None below two values."""
    if len(values) < 2:
        return None
    return float(np.std(values, ddof=1))


def median(values: Sequence[Number]) -> float | None:
    """Return the median; None without values."""
    return float(np.median(values)) if len(values) else None


def interquartile_mean(values: Values) -> Array | np.float64:
    """Return the mean of the middle half along the last axis.

    A value at the edge of the middle half counts by its share inside. Of ten values in order, the
    fourth to seventh count fully, the third and eighth by half. scipy.stats.trim_mean would cut
    whole values only, and keep six of ten.
    """
    # The sum of sorted numbers has the same digits for every order of the seeds. Otherwise the
    # bootstrap would see ties as different.
    ordered = np.sort(np.asarray(values, float), axis=-1)
    count = ordered.shape[-1]
    # In quarters of a value: each value has four, and the middle half is from count to 3 count.
    start = 4 * np.arange(count)
    inside = np.minimum(start + 4, 3 * count) - np.maximum(start, count)
    weights = np.maximum(inside, 0)
    return (ordered * weights).sum(axis=-1) / (2 * count)  # the weights sum to 2 count


def wilson(successes: Number, count: Number) -> Interval | None:
    """Return Wilson's interval of a rate; None without runs.

    Args:
      successes, count: of runs; no whole numbers where runs count as fewer
        (contrib/grids/clustered.py).
    """
    if not count:
        return None
    # Wilson 1927: all rates p with (rate - p)^2 <= z^2 p (1 - p) / n.
    rate = successes / count
    square = _QUANTILE**2 / count
    middle = (rate + square / 2) / (1 + square)
    half = math.sqrt(square * rate * (1 - rate) + square**2 / 4) / (1 + square)
    # The intervals of 0 of n and of n of n end at 0 and 1. Rounding would leave 1 - 2e-16, which a
    # table shows as 0.999.
    low = middle - half if rate > 0 else 0.0
    high = middle + half if rate < 1 else 1.0
    return Interval(low, high, "wilson")


def center(values: Sequence[Number]) -> Center | None:
    """Return the center of the values of seeds; None without values."""
    if not len(values):
        return None
    interval = center_interval(values)
    if len(values) >= BOOTSTRAP_FROM:
        return Center(float(interquartile_mean(values)), "interquartile mean", interval)
    return Center(float(np.median(values)), "median", interval)


def center_interval(values: Sequence[Number]) -> Interval | None:
    """Return the interval of `center`; None below five values."""
    if len(values) >= BOOTSTRAP_FROM:
        return bootstrap([values], interquartile_mean)
    return order_statistics(values)


def order_statistics(values: Sequence[Number]) -> Interval | None:
    """Return an interval of the median that assumes nothing about the distribution.

    It goes from the k-th smallest to the k-th largest value. For five values the widest one covers
    only 93.75 %, and is returned nevertheless. None below five.
    """
    if len(values) < EXACT_FROM:
        return None
    num_outside = _num_outside(len(values))
    ordered = sorted(values)
    low = float(ordered[num_outside])
    high = float(ordered[-1 - num_outside])
    return Interval(low, high, "order statistics")


@lru_cache(maxsize=512)
def _num_outside(count: int) -> int:
    """Return how many values lie outside of an interval of the median, at each end."""
    from scipy import stats

    # The numbers are their own indices, so the end of the interval is an index.
    test = stats.quantile_test(np.arange(count), p=0.5)
    lowest = test.confidence_interval(CONFIDENCE).low
    # NaN: too few values for 95 %.
    return 0 if math.isnan(lowest) else int(lowest)


def t_interval(
    values: Sequence[Number], limits: tuple[float, float] = (-math.inf, math.inf)
) -> Interval | None:
    """Return Student's interval of the mean; None below two values.

    Args:
      limits: the smallest and the largest possible mean, where the interval ends.
    """
    from scipy import stats

    if len(values) < 2:
        return None
    # stats.t.interval is NaN for equal values.
    degrees = len(values) - 1
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, degrees)
    half = quantile * stats.sem(values)
    mean_value = np.mean(values)
    low, high = np.clip([mean_value - half, mean_value + half], *limits)
    return Interval(float(low), float(high), "t")


def bootstrap(
    strata: Sequence[Values],
    statistic: Callable[[Array], Array | np.float64],
    *,
    corrected: bool = True,
) -> Interval:
    """Return a bootstrap interval of a statistic of all seeds, resampled within each stratum.

    It is BCa (Efron 1987), or the percentile interval where BCa is not defined, because leaving
    out one seed changes nothing.

    Args:
      strata: one number for each seed, [n], or a row of numbers, [n, K].
      statistic: of [..., n] or [..., n, K].
      corrected: False: percentile interval.
    """
    from scipy import stats

    groups = [np.asarray(group, float) for group in strata]

    # Indices are resampled, because SciPy resamples numbers only and a seed can have a row of them.
    def of_indices(*indices: NDArray[np.int64], axis: int = -1) -> Array | np.float64:
        parts = [group[index] for group, index in zip(groups, indices, strict=True)]
        # The seeds are on the last axis of the indices. Rows of numbers have one more axis.
        seed_axis = indices[0].ndim - 1
        return statistic(np.concatenate(parts, axis=seed_axis))

    # SciPy resamples each of several samples by itself, which is the stratification.
    samples = tuple(np.arange(len(group)) for group in groups)
    point = float(statistic(np.concatenate(groups)))
    methods = ("BCa", "percentile") if corrected else ("percentile",)
    for method in methods:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            result = stats.bootstrap(
                samples,
                of_indices,
                n_resamples=RESAMPLES,
                vectorized=True,
                confidence_level=CONFIDENCE,
                method=method,
                rng=np.random.default_rng(0),
            )
        if np.ptp(result.bootstrap_distribution) == 0:
            return Interval(point, point, "constant")
        low, high = map(float, result.confidence_interval)
        if not math.isnan(low + high):  # BCa is NaN where it is not defined
            break
    return Interval(low, high, method)


def correlation(a: Sequence[Number], b: Sequence[Number]) -> float | None:
    """Return the correlation of pairs; None below three, or if one side is constant."""
    if len(a) < 3:  # two points always lie on a line
        return None
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def improvement(a: Sequence[Number], b: Sequence[Number]) -> float | None:
    """Return the probability that a run of a is above one of b, where ties count half.

    This is Mann and Whitney's U, divided by the number of pairs. None if a side has no run.
    """
    from scipy import stats

    if not len(a) or not len(b):
        return None
    # The method concerns p alone, which is not used here. The exact one would be slow.
    test = stats.mannwhitneyu(a, b, method="asymptotic")
    num_pairs = len(a) * len(b)
    return float(test.statistic) / num_pairs


def coverage(kind: str, count: int) -> tuple[int, float] | None:
    """Return the measured coverage of an interval, with the number of seeds of the simulation.

    It is the largest number of simulated seeds up to `count`. None below the smallest one.
    """
    shares = MEASURED.get(kind, {})
    simulated = [seeds for seeds in shares if seeds <= count]
    if not simulated:
        return None
    most = max(simulated)
    return most, shares[most]
