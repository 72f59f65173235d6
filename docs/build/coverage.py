"""Coverage of confidence intervals by number of seeds, from simulated studies with a known truth.

There are two distributions of seeds. In one, seeds fall into two groups, as they do in studies: six
of ten extrapolate and are near 1, and the others are near 0. In the other, all seeds vary around one
value. The coverage of intervals of success rates is computed exactly, for true rates from 0.05 to
0.95.

`python -m docs.build --measure=coverage` writes the record, and docs/statistics.md shows it. Tables
quote a part of it (statistics.MEASURED).
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from pe_lab.results import statistics
from pe_lab.results.statistics import Interval

SEEDS = (3, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30)
# Weight of each group of seeds, and the two parameters of its beta distribution.
WORLDS = {
    "two groups": ((0.6, 40.0, 1.5), (0.4, 1.0, 8.0)),
    "one group": ((1.0, 8.0, 3.0),),
}
STUDIES = 2000
_GRID = 200_001
_TRUE_RATES = np.linspace(0.05, 0.95, 91)


def _mean_bootstrap(values: list[float]) -> Interval | None:
    return statistics.bootstrap([values], lambda x: np.mean(x, axis=-1), corrected=False)


def _interquartile_bootstrap(values: list[float]) -> Interval | None:
    return statistics.bootstrap([values], statistics.interquartile_mean)


# name -> (what the interval is of, its function)
INTERVALS: dict[str, tuple[str, Callable[[list[float]], Interval | None]]] = {
    "order statistics": ("median", statistics.order_statistics),
    "t": ("mean", statistics.t_interval),
    "percentile bootstrap": ("mean", _mean_bootstrap),
    "BCa": ("interquartile mean", _interquartile_bootstrap),
}


def simulate() -> dict[str, Any]:
    """Return the record: coverage by interval, distribution and number of seeds."""
    rates = {}
    for kind in ("wilson", "clopper-pearson"):
        rates[kind] = {str(count): rate_coverage(kind, count) for count in SEEDS}
    centers: dict[str, Any] = {}
    for kind in INTERVALS:
        centers[kind] = {}
        for world in WORLDS:
            by_count = {str(count): center_coverage(kind, world, count) for count in SEEDS}
            centers[kind][world] = by_count
    worlds = {name: [list(group) for group in groups] for name, groups in WORLDS.items()}
    return {"studies": STUDIES, "worlds": worlds, "rates": rates, "centers": centers}


def center_coverage(kind: str, world: str, count: int) -> float | None:
    """Return the share of simulated studies whose interval contains the truth.

    Args:
      kind: name of an interval.
      world: name of a distribution of seeds.
      count: seeds of a study.

    Returns:
      None if the interval does not exist for so few seeds.
    """
    center, interval = INTERVALS[kind]
    quantiles = _quantiles(world)
    truth = {
        "median": np.median(quantiles),
        "mean": np.mean(quantiles),
        "interquartile mean": statistics.interquartile_mean(quantiles),
    }[center]
    uniform = np.random.default_rng(count).random((STUDIES, count))
    values = np.interp(uniform, np.linspace(0, 1, _GRID), quantiles)
    covered = []
    for values_of_study in values.tolist():
        ends = interval(values_of_study)
        if ends is None:
            return None
        covered.append(ends.low <= truth <= ends.high)
    return float(np.mean(covered))


@functools.cache
def _quantiles(world: str) -> Float[np.ndarray, "p"]:
    """Return the quantiles of a distribution of seeds at evenly spaced probabilities."""
    x = np.linspace(0, 1, _GRID)
    cumulative = sum(weight * stats.beta.cdf(x, a, b) for weight, a, b in WORLDS[world])
    return np.interp(np.linspace(0, 1, _GRID), cumulative, x)


def rate_coverage(kind: str, count: int) -> dict[str, float]:
    """Return the mean and the lowest coverage over true rates, exactly."""
    successes = np.arange(count + 1)[:, None]
    intervals = [_rate_interval(kind, number, count) for number in range(count + 1)]
    low, high = np.array(intervals).T[..., None]
    rates = _TRUE_RATES
    is_covered = (low <= rates) & (rates <= high)  # [successes, rate]
    coverage = (is_covered * stats.binom.pmf(successes, count, rates)).sum(axis=0)
    return {"mean": round(float(coverage.mean()), 6), "least": round(float(coverage.min()), 6)}


def _rate_interval(kind: str, successes: int, count: int) -> tuple[float, float]:
    if kind == "wilson":
        interval = statistics.wilson(successes, count)
        assert interval is not None
        return interval.low, interval.high
    exact = stats.binomtest(successes, count).proportion_ci(statistics.CONFIDENCE, method="exact")
    return float(exact.low), float(exact.high)


def measured(record: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """Return the coverage that tables quote, rounded to hundredths.

    It is the mean over true rates for success rates, and that of two groups for other intervals.
    """
    wilson = record["rates"]["wilson"]
    quoted = {"wilson": {int(count): round(each["mean"], 2) for count, each in wilson.items()}}
    fewest_seeds = {
        "order statistics": statistics.EXACT_FROM,
        "t": statistics.EXACT_FROM,
        "percentile": min(SEEDS),
        "BCa": statistics.BOOTSTRAP_FROM,
    }
    for kind, fewest in fewest_seeds.items():
        quoted[kind] = {}
        name = "percentile bootstrap" if kind == "percentile" else kind
        for count, share in record["centers"][name]["two groups"].items():
            if share is not None and int(count) >= fewest:
                quoted[kind][int(count)] = round(share, 2)
    return quoted
