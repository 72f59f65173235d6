"""Tests of significance over seeds and tasks, and the smallest p values that they can give.

SciPy is imported where it is used, because it takes seconds to import.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pe_lab.results.statistics import CONFIDENCE, Array, Number

LEVEL = 0.05
RANKS_FROM = 15  # tasks
_EXACT_FLIPS = 16  # pairs up to which every combination of signs is counted
_FLIPS = 20_000


def sign_flip(differences: Sequence[Number]) -> float | None:
    """Return the two-sided p of paired differences whose signs are exchangeable.

    It is exact up to 16 pairs. None without pairs. For n pairs it is at least 2 / 2^n, so five
    pairs never reach 0.05.
    """
    values = np.asarray(differences, float)
    count = len(values)
    if not count:
        return None
    # scipy.stats.permutation_test gives the same p, but takes a second for 16 pairs.
    exact = count <= _EXACT_FLIPS
    if exact:
        bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
        signs = 1 - 2 * bits
    else:
        signs = np.random.default_rng(0).choice((-1, 1), (_FLIPS, count))
    observed = abs(values.mean()) * (1 - 1e-12) - 1e-15  # a tie by rounding counts
    is_extreme = np.abs((signs * values).mean(axis=1)) >= observed
    if exact:
        return float(np.mean(is_extreme))
    return float((1 + np.sum(is_extreme)) / (1 + _FLIPS))


def barnard(a: tuple[int, int], b: tuple[int, int]) -> float | None:
    """Return the two-sided p of Barnard's exact test that two rates are equal.

    Args:
      a, b: successes and count. None is returned if a side has no run.
    """
    if not a[1] or not b[1]:
        return None
    if a[0] + b[0] in (0, a[1] + b[1]):
        return 1.0
    return float(barnard_table(a[1], b[1])[a[0], b[0]])


@lru_cache(maxsize=512)
def barnard_table(count_a: int, count_b: int) -> Array:
    """Return Barnard's p of every pair of successes, [count_a + 1, count_b + 1].

    It is the largest p over the common rate, by the pooled Wald statistic.
    scipy.stats.barnard_exact gives one of them, and its rounding drops outcomes on the other side
    that are as extreme. Planning needs the p of all outcomes.
    """
    from scipy import stats

    x, y = np.meshgrid(np.arange(count_a + 1), np.arange(count_b + 1), indexing="ij")
    pooled = (x + y) / (count_a + count_b)
    variance = pooled * (1 - pooled) * (1 / count_a + 1 / count_b)
    wald = np.abs(x / count_a - y / count_b) / np.sqrt(np.where(variance > 0, variance, 1))
    statistic = np.round(wald.ravel(), 9)  # outcomes that differ by rounding are ties
    order = np.argsort(-statistic, kind="stable")
    rates = np.linspace(0, 1, 402)[1:-1]
    of_a = stats.binom.pmf(x.ravel()[order, None], count_a, rates)
    of_b = stats.binom.pmf(y.ravel()[order, None], count_b, rates)
    tails = np.cumsum(of_a * of_b, axis=0)
    # The tail of an outcome includes all its ties.
    last = np.searchsorted(-statistic[order], -statistic[order], side="right") - 1
    largest = np.empty_like(statistic)
    largest[order] = tails[last].max(axis=1)
    return np.minimum(largest, 1.0).reshape(wald.shape)


def holm(ps: Sequence[Number | None]) -> list[float | None]:
    """Return p values adjusted for their number (Holm 1979). None is no test and stays None.

    statsmodels' multipletests gives the same numbers, but every call collects garbage, which takes
    0.1 s in a process that has loaded JAX. Planning calls this thousands of times.
    """
    tested = [(p, index) for index, p in enumerate(ps) if p is not None]
    adjusted: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, (p, index) in enumerate(sorted(tested)):
        largest = max(largest, p * (len(tested) - rank))
        adjusted[index] = float(min(largest, 1.0))
    return adjusted


def can_decide(smallest: Sequence[float | None]) -> list[bool]:
    """Return for each test whether its p, adjusted over all of them (Holm), can fall below LEVEL.

    An adjusted p never falls when another p rises, so all tests are taken at their smallest p.

    Args:
      smallest: smallest p of each test before the adjustment; None for no test.
    """
    return [p is not None and p < LEVEL for p in holm(smallest)]


def smallest_p_of_counts(count_a: int, count_b: int) -> float | None:
    """Return the smallest p of Barnard's test for these numbers of runs; None if one is 0."""
    if not count_a or not count_b:
        return None
    return float(barnard_table(count_a, count_b).min())


def smallest_p_of_pairs(pairs: int) -> float | None:
    """Return the smallest p of the sign-flip test for a number of pairs; None without pairs."""
    return sign_flip([1.0] * pairs)


@dataclass(frozen=True)
class Ranks:
    """Ranks of variants over tasks.

    Attributes:
      mean: mean rank of each variant; 1 is best.
      p: of Friedman's test that all variants are equal.
      critical_difference: Nemenyi's.
    """

    mean: tuple[float, ...]
    p: float
    critical_difference: float


def ranks(scores: Sequence[Sequence[Number]]) -> Ranks | None:
    """Return the ranks of [tasks, variants], where more is better.

    None below fifteen tasks, below three variants, or if no task separates any two variants.
    """
    from scipy import stats

    table = np.asarray(scores, float)
    if table.ndim != 2 or table.shape[0] < RANKS_FROM or table.shape[1] < 3:
        return None
    if not np.ptp(table, axis=1).any():
        return None
    tasks, variants = table.shape
    edge = stats.studentized_range.ppf(CONFIDENCE, variants, np.inf) / math.sqrt(2)
    difference = float(edge) * math.sqrt(variants * (variants + 1) / (6 * tasks))
    means = stats.rankdata(-table, axis=1).mean(axis=0)
    p = float(stats.friedmanchisquare(*table.T).pvalue)
    return Ranks(tuple(map(float, means)), p, difference)
