"""Statistics of comparison: the unit is the seed, and an interval is what that many seeds allow.

    seeds      interval of the centre                      point
    under 5    none: the table shows every seed            median
    5 to 9     exact, from order statistics; flagged       median
    10 and up  BCa bootstrap, stratified by task           interquartile mean

What each really covers is measured in docs/statistics.md, from MEASURED, and tables say that
number. Everything random here is drawn from a fixed seed: the same records give the same table.
scipy.stats takes two seconds to import, so it is imported where it is needed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

Number = int | float
CONFIDENCE = 0.95
EXACT_FROM, BOOTSTRAP_FROM = 5, 10  # seeds
RANKS_FROM = 15  # tasks
RESAMPLES = 4000
_EXACT_FLIPS = 16  # pairs up to which every sign is tried
_FLIPS = 20_000
_TRIM = 0.25  # from each end, what is left of it is the interquartile mean

MEASURED: dict[
    str, dict[int, float]
] = {  # kind of interval -> seeds -> share of simulated studies in which it holds the truth
    "wilson": {
        3: 0.96,
        5: 0.96,
        6: 0.96,
        7: 0.96,
        8: 0.96,
        9: 0.95,
        10: 0.96,
        12: 0.96,
        15: 0.95,
        20: 0.95,
        30: 0.95,
    },
    "order statistics": {
        5: 0.94,
        6: 0.97,
        7: 0.98,
        8: 0.99,
        9: 0.97,
        10: 0.98,
        12: 0.96,
        15: 0.97,
        20: 0.95,
        30: 0.95,
    },
    "t": {
        5: 0.92,
        6: 0.94,
        7: 0.94,
        8: 0.94,
        9: 0.92,
        10: 0.93,
        12: 0.95,
        15: 0.95,
        20: 0.94,
        30: 0.94,
    },
    "BCa": {10: 0.92, 12: 0.95, 15: 0.94, 20: 0.93, 30: 0.92},
}


@dataclass(frozen=True)
class Interval:
    """Where the truth is thought to be."""

    low: float
    high: float
    kind: str  # wilson, order statistics, t, BCa, percentile, constant
    nominal: float = CONFIDENCE


@dataclass(frozen=True)
class Centre:
    """A point for the values of several seeds, with an interval or the reason why there is none."""

    point: float
    name: str  # median, interquartile mean
    count: int
    interval: Interval | None
    reason: str = ""


def mean(values: Iterable[Number]) -> float | None:
    """The arithmetic mean; None of nothing."""
    values = list(values)
    return math.fsum(values) / len(values) if values else None


def deviation(values: Sequence[Number]) -> float | None:
    """The sample standard deviation; None of fewer than two."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def median(values: Sequence[Any]) -> Any:
    """The middle value; of an even number the mean of the two, or the lower one of what is no
    number. None of nothing.
    """
    found = sorted(values)
    if not found:
        return None
    low, high = found[(len(found) - 1) // 2], found[len(found) // 2]
    return (low + high) / 2 if isinstance(low, int | float) else low


def interquartile_mean(values: Any) -> Any:
    """The mean of the middle half, along the last axis, as scipy.stats.trim_mean: a quarter,
    rounded down, is left out at each end.
    """
    found = np.sort(values, axis=-1)
    outside = int(_TRIM * found.shape[-1])
    return found[..., outside : found.shape[-1] - outside].mean(axis=-1)


def chance_corrected(accuracy: Number, chance_level: Number) -> float | None:
    """Return the share of the way from chance level to 1 that an accuracy reaches.

    It is 0 at chance level and negative below it. None if the chance level is 1.

    Args:
      chance_level: what is reached without seeing any prompt.
    """
    return None if chance_level >= 1 else (accuracy - chance_level) / (1 - chance_level)


def wilson(successes: int, count: int) -> Interval | None:
    """Of a rate; None of nothing."""
    from scipy import stats

    if not count:
        return None
    found = stats.binomtest(successes, count).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(max(0.0, float(found.low)), min(1.0, float(found.high)), "wilson")


def centre(strata: Sequence[Sequence[Number]] | Sequence[Number]) -> Centre | None:
    """Of the values of seeds, or of several tasks' seeds; None of nothing.

    Args:
      strata: the values, or a list of them for each task; resampling stays within a task.
    """
    groups = [list(s) if isinstance(s, Sequence) else [s] for s in strata]
    groups = (
        [g for g in groups if g]
        if any(isinstance(s, Sequence) for s in strata)
        else [[v for g in groups for v in g]]
    )
    values = [v for g in groups for v in g]
    if not values:
        return None
    seeds = min(map(len, groups))
    if seeds >= BOOTSTRAP_FROM:
        return Centre(
            float(interquartile_mean(values)),
            "interquartile mean",
            len(values),
            bootstrap(groups, interquartile_mean),
        )
    interval = order_statistics(values) if seeds >= EXACT_FROM and len(groups) == 1 else None
    reason = (
        ""
        if interval
        else f"{_seeds(seeds)}: no interval below "
        f"{EXACT_FROM if len(groups) == 1 else BOOTSTRAP_FROM}"
    )
    return Centre(float(median(values)), "median", len(values), interval, reason)


def order_statistics(values: Sequence[Number]) -> Interval | None:
    """Of the median, whatever the distribution: from the k-th smallest to the k-th largest, as near
    to 95 % from above as there is.

    Of five, the widest covers 93.75 % and is given all the same; None of fewer.
    """
    from scipy import stats

    count = len(values)
    if count < EXACT_FROM:
        return None
    outside = int(stats.binom.ppf((1 - CONFIDENCE) / 2, count, 0.5))
    while outside and 2 * stats.binom.cdf(outside - 1, count, 0.5) > 1 - CONFIDENCE:
        outside -= 1
    rank = max(outside, 1)
    covers = 1 - 2 * float(stats.binom.cdf(rank - 1, count, 0.5))
    found = sorted(values)
    return Interval(float(found[rank - 1]), float(found[-rank]), "order statistics", covers)


def t_interval(values: Sequence[Number]) -> Interval | None:
    """Of the mean, if it were normal; None of fewer than two."""
    from scipy import stats

    if len(values) < 2:
        return None
    half = (
        float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
        * float(np.std(values, ddof=1))
        / math.sqrt(len(values))
    )
    return Interval(float(np.mean(values)) - half, float(np.mean(values)) + half, "t")


def bootstrap(
    strata: Sequence[Any], statistic: Callable[[Any], Any], *, corrected: bool = True
) -> Interval:
    """Of a statistic of all seeds, those of each stratum resampled within it.

    BCa (Efron 1987); percentiles where its correction is not defined, because leaving a seed out
    changes nothing.

    Args:
      strata: of each, a number or a row of numbers a seed, [n] or [n, K].
      statistic: of [..., n] or [..., n, K].
      corrected: False: percentiles in any case.
    """
    groups = [np.asarray(group, float) for group in strata]
    point = float(statistic(np.concatenate(groups)))
    rng = np.random.default_rng(0)
    drawn = np.concatenate(
        [g[rng.integers(0, len(g), (RESAMPLES, len(g)))] for g in groups], axis=1
    )
    found = np.sort(statistic(drawn))
    if found[0] == found[-1]:
        return Interval(point, point, "constant")
    levels, kind = np.array([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]), "percentile"
    if corrected and (better := _corrected(levels, found, point, groups, statistic)) is not None:
        levels, kind = better, "BCa"
    low, high = np.quantile(found, levels)
    return Interval(float(low), float(high), kind)


def _corrected(
    levels: Any, found: Any, point: float, groups: list[Any], statistic: Callable[[Any], Any]
) -> Any:
    """The levels of BCa; None where they are not defined."""
    from scipy import stats

    below = (np.mean(found < point) + np.mean(found <= point)) / 2  # resamples of few seeds tie
    left_out = [
        np.concatenate([*groups[:i], np.delete(g, j, 0), *groups[i + 1 :]])
        for i, g in enumerate(groups)
        for j in range(len(g))
    ]
    jackknife = np.array([float(statistic(values)) for values in left_out])
    gaps = jackknife.mean() - jackknife
    spread = float(np.sum(gaps**2))
    if spread < 1e-24 or not 0 < below < 1:
        return None
    acceleration, bias = float(np.sum(gaps**3)) / (6 * spread**1.5), stats.norm.ppf(below)
    shifted = bias + stats.norm.ppf(levels)
    return stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))


def sign_flip(differences: Sequence[Number]) -> float | None:
    """Two-sided p of paired differences, each as likely to be of the other sign: exact up to 16
    pairs. None of nothing.

    Of n pairs it cannot be below 2 / 2^n: five pairs never reach 0.05.
    """
    given = np.asarray(differences, float)
    if not len(given):
        return None
    observed = abs(given.mean()) * (1 - 1e-12) - 1e-15  # ties of rounding count
    if len(given) <= _EXACT_FLIPS:
        signs = 1 - 2 * ((np.arange(2 ** len(given))[:, None] >> np.arange(len(given))) & 1)
        return float(np.mean(np.abs((signs * given).mean(axis=1)) >= observed))
    signs = np.random.default_rng(0).choice((-1, 1), (_FLIPS, len(given)))
    return float((1 + np.sum(np.abs((signs * given).mean(axis=1)) >= observed)) / (1 + _FLIPS))


def correlation(a: Sequence[Number], b: Sequence[Number]) -> float | None:
    """Of pairs; None of fewer than three, or where one side does not vary."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def improvement(a: Sequence[Number], b: Sequence[Number]) -> float | None:
    """The probability that a run of a is above one of b, ties half: Mann and Whitney's U over n m.
    None of nothing.
    """
    if not len(a) or not len(b):
        return None
    gaps = np.asarray(a, float)[:, None] - np.asarray(b, float)[None]
    return float(np.mean((gaps > 0) + 0.5 * (gaps == 0)))


def barnard(a: tuple[int, int], b: tuple[int, int]) -> float | None:
    """Two-sided p that two rates are one, of (successes, count) each: Barnard's exact test. None
    where a side has no run.
    """
    if not a[1] or not b[1]:
        return None
    if a[0] + b[0] in (0, a[1] + b[1]):
        return 1.0
    return float(barnard_table(a[1], b[1])[a[0], b[0]])


@lru_cache(maxsize=512)
def barnard_table(count_a: int, count_b: int) -> Any:
    """The p of every pair of successes, [count_a + 1, count_b + 1]: the worst over the common rate,
    by the pooled Wald statistic.

    scipy.stats.barnard_exact gives one of them, and loses outcomes that are as extreme on the other
    side to rounding.
    """
    from scipy import stats

    x, y = np.meshgrid(np.arange(count_a + 1), np.arange(count_b + 1), indexing="ij")
    pooled = (x + y) / (count_a + count_b)
    variance = pooled * (1 - pooled) * (1 / count_a + 1 / count_b)
    statistic = np.abs(x / count_a - y / count_b) / np.sqrt(np.where(variance > 0, variance, 1))
    flat = np.round(statistic.ravel(), 9)
    order = np.argsort(-flat, kind="stable")
    rates = np.linspace(0, 1, 402)[1:-1]
    weights = stats.binom.pmf(x.ravel()[order, None], count_a, rates) * stats.binom.pmf(
        y.ravel()[order, None], count_b, rates
    )
    tails = np.cumsum(weights, axis=0)
    last = np.searchsorted(-flat[order], -flat[order], side="right") - 1  # ties are as extreme
    worst = np.empty_like(flat)
    worst[order] = tails[last].max(axis=1)
    return np.minimum(worst, 1.0).reshape(statistic.shape)


def holm(ps: Sequence[Number | None]) -> list[float | None]:
    """Adjusted for their number; those that are None are no claims."""
    made = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    highest = 0.0
    for place, (p, i) in enumerate(made):
        highest = max(highest, min(1.0, (len(made) - place) * p))
        adjusted[i] = highest
    return adjusted


def _seeds(count: int) -> str:
    return f"{count} seed" if count == 1 else f"{count} seeds"


@dataclass(frozen=True)
class Ranks:
    """Over tasks: the mean rank of each variant (1 is best), Friedman's p that all are alike, and
    Nemenyi's critical difference.
    """

    mean: tuple[float, ...]
    p: float
    critical_difference: float


def ranks(scores: Sequence[Sequence[Number]]) -> Ranks | None:
    """Of [tasks, variants], more is better; None under fifteen tasks, under three variants, or
    where no task tells any apart.
    """
    from scipy import stats

    given = np.asarray(scores, float)
    if (
        given.ndim != 2
        or given.shape[0] < RANKS_FROM
        or given.shape[1] < 3
        or not np.ptp(given, axis=1).any()
    ):
        return None
    tasks, variants = given.shape
    edge = stats.studentized_range.ppf(CONFIDENCE, variants, np.inf) / math.sqrt(2)
    difference = float(edge) * math.sqrt(variants * (variants + 1) / (6 * tasks))
    places = stats.rankdata(-given, axis=1).mean(axis=0)
    return Ranks(
        tuple(float(place) for place in places),
        float(stats.friedmanchisquare(*given.T).pvalue),
        difference,
    )


def coverage(kind: str, count: int) -> tuple[int, float] | None:
    """The share of simulated studies whose interval holds the truth, and their seeds: those
    measured next below `count`.
    """
    found = [n for n in MEASURED.get(kind, {}) if n <= count]
    return (max(found), MEASURED[kind][max(found)]) if found else None
