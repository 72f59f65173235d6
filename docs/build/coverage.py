"""How often each interval holds the truth, in simulated studies whose truth is known, by number of seeds.

Two worlds: in one, seeds fall into two groups, as they do (six of ten extend and are near 1, the others near 0); in the other
they vary around one value. Rates of extrapolation are counted exactly, over all rates from 0.05 to 0.95. `python -m
docs.build --measure=coverage` makes the record, docs/statistics.md shows it, and tables quote a part of it (statistics.MEASURED).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from pe_lab.results import statistics
from pe_lab.results.statistics import Interval

SEEDS = (3, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30)
WORLDS = {  # weight, and the two parameters of a beta distribution, of each group
    "two groups": ((0.6, 40.0, 1.5), (0.4, 1.0, 8.0)),
    "one group": ((1.0, 8.0, 3.0),),
}
STUDIES = 2000
_GRID = 200_001


def _mean(values: Any) -> Any:
    return np.mean(values, axis=-1)


INTERVALS: dict[
    str, tuple[str, Callable[[list[float]], Interval | None]]
] = {  # name -> what it is of, and how it is made
    "order statistics": ("median", statistics.order_statistics),
    "t": ("mean", statistics.t_interval),
    "percentile bootstrap": (
        "mean",
        lambda values: statistics.bootstrap([values], _mean, corrected=False),
    ),
    "BCa": (
        "interquartile mean",
        lambda values: statistics.bootstrap([values], statistics.interquartile_mean),
    ),
}


def simulate(seeds: Any = SEEDS, studies: int = STUDIES) -> dict[str, Any]:
    """The record: by interval, world and number of seeds, the share of studies whose interval holds the truth."""
    found: dict[str, Any] = {
        "studies": studies,
        "worlds": {name: [list(part) for part in parts] for name, parts in WORLDS.items()},
    }
    found["rates"] = {
        kind: {str(n): _of_rates(kind, n) for n in seeds} for kind in ("wilson", "clopper-pearson")
    }
    found["centres"] = {
        kind: {world: {str(n): held(kind, world, n, studies) for n in seeds} for world in WORLDS}
        for kind in INTERVALS
    }
    return found


def held(kind: str, world: str, count: int, studies: int = STUDIES) -> float | None:
    """The share of studies of one kind; None where there is no such interval with so few seeds."""
    target, interval = INTERVALS[kind]
    quantiles = _quantiles(world)
    truth = {
        "median": np.median(quantiles),
        "mean": quantiles.mean(),
        "interquartile mean": statistics.interquartile_mean(quantiles),
    }[target]
    drawn = np.interp(
        np.random.default_rng(count).random((studies, count)), np.linspace(0, 1, _GRID), quantiles
    )
    made = [interval(values) for values in drawn.tolist()]
    if None in made:
        return None
    return float(np.mean([i.low <= truth <= i.high for i in made]))  # type: ignore[union-attr]


@lru_cache
def _quantiles(world: str) -> Any:
    """The value at each of many evenly spaced shares of a world's seeds."""
    from scipy import stats

    x = np.linspace(0, 1, _GRID)
    below = sum(weight * stats.beta.cdf(x, a, b) for weight, a, b in WORLDS[world])
    return np.interp(np.linspace(0, 1, _GRID), below, x)


def _of_rates(kind: str, count: int) -> dict[str, float]:
    """Mean and least coverage over true rates, exactly."""
    from scipy import stats

    rates = np.linspace(0.05, 0.95, 91)
    ends = [_rate_interval(kind, k, count) for k in range(count + 1)]
    covers = [
        sum(stats.binom.pmf(k, count, p) for k, (low, high) in enumerate(ends) if low <= p <= high)
        for p in rates.tolist()
    ]
    return {"mean": round(float(np.mean(covers)), 6), "least": round(float(np.min(covers)), 6)}


def _rate_interval(kind: str, successes: int, count: int) -> tuple[float, float]:
    from scipy import stats

    if kind == "wilson":
        found = statistics.wilson(successes, count)
        assert found is not None
        return found.low, found.high
    exact = stats.binomtest(successes, count).proportion_ci(statistics.CONFIDENCE, method="exact")
    return float(exact.low), float(exact.high)


def measured(record: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """What tables say: of rates the mean over rates, of centres the world of two groups; in whole hundredths."""
    rates = {
        "wilson": {int(n): round(each["mean"], 2) for n, each in record["rates"]["wilson"].items()}
    }
    two = {kind: record["centres"][kind]["two groups"] for kind in ("order statistics", "t", "BCa")}
    least = {
        "order statistics": statistics.EXACT_FROM,
        "t": statistics.EXACT_FROM,
        "BCa": statistics.BOOTSTRAP_FROM,
    }
    return rates | {
        kind: {
            int(n): round(share, 2)
            for n, share in found.items()
            if share is not None and int(n) >= least[kind]
        }
        for kind, found in two.items()
    }
