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
EXACT_FLIPS = 16  # pairs up to which every combination of signs is counted
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
    is_exact = count <= EXACT_FLIPS
    if is_exact:
        # The bits of a number from 0 to 2^n - 1 are one combination of signs.
        numbers = np.arange(2**count)
        bits = (numbers[:, None] >> np.arange(count)) & 1  # [2^n, n]
        signs = 1 - 2 * bits
    else:
        generator = np.random.default_rng(0)
        signs = generator.choice((-1, 1), (_FLIPS, count))
    observed = abs(values.mean())
    least = observed * (1 - 1e-12) - 1e-15  # a tie by rounding counts
    flipped = (signs * values).mean(axis=1)
    is_extreme = np.abs(flipped) >= least
    if is_exact:
        return float(np.mean(is_extreme))
    # The observed signs count as one more sample, so p is never 0 (Phipson and Smyth 2010).
    num_extreme = 1 + np.sum(is_extreme)
    return float(num_extreme / (1 + _FLIPS))


def barnard(a: tuple[int, int], b: tuple[int, int]) -> float | None:
    """Return the two-sided p of Barnard's exact test that two rates are equal.

    Args:
      a, b: successes and count. None is returned if a side has no run.
    """
    successes_a, count_a = a
    successes_b, count_b = b
    if not count_a or not count_b:
        return None
    successes = successes_a + successes_b
    if successes in (0, count_a + count_b):
        return 1.0  # rates that are both 0 or both 1 need no table
    table = barnard_table(count_a, count_b)
    return float(table[successes_a, successes_b])


@lru_cache(maxsize=512)
def barnard_table(count_a: int, count_b: int) -> Array:
    """Return Barnard's p of every pair of successes, [count_a + 1, count_b + 1].

    It is the largest p over the common rate, by the pooled Wald statistic.
    scipy.stats.barnard_exact gives one of them, and its rounding drops outcomes on the other side
    that are as extreme. Planning needs the p of all outcomes.
    """
    from scipy import stats

    shape = (count_a + 1, count_b + 1)
    of_a, of_b = np.indices(shape).reshape(2, -1)  # successes, for each outcome
    pooled = (of_a + of_b) / (count_a + count_b)
    variance = pooled * (1 - pooled) * (1 / count_a + 1 / count_b)
    # Without variance the rates are equal, and the statistic is 0.
    deviation = np.sqrt(np.where(variance > 0, variance, 1))
    wald = np.abs(of_a / count_a - of_b / count_b) / deviation
    statistic = np.round(wald, 9)  # outcomes that differ by rounding are ties
    order = np.argsort(-statistic, kind="stable")  # the most extreme outcome first
    rates = np.linspace(0, 1, 402)[1:-1]  # of rate 0 or 1, no outcome is extreme
    probability_a = stats.binom.pmf(of_a[order, None], count_a, rates)
    probability_b = stats.binom.pmf(of_b[order, None], count_b, rates)
    tails = np.cumsum(probability_a * probability_b, axis=0)  # [outcomes, rates]
    # The tail of an outcome includes all its ties.
    falling = -statistic[order]
    last = np.searchsorted(falling, falling, side="right") - 1
    largest = np.empty_like(statistic)
    largest[order] = tails[last].max(axis=1)  # over the unknown common rate
    return np.minimum(largest, 1.0).reshape(shape)  # rounding may leave 1 + 1e-16


def holm(ps: Sequence[Number | None]) -> list[float | None]:
    """Return p values adjusted for their number (Holm 1979).

    None stays None and counts as a test, so the adjustment is for all declared contrasts and does
    not depend on which runs are finished or solved.

    statsmodels' multipletests gives the same numbers, but every call collects garbage, which takes
    0.1 s in a process that has loaded JAX. Planning calls this thousands of times.
    """
    tested = [(p, index) for index, p in enumerate(ps) if p is not None]
    adjusted: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, (p, index) in enumerate(sorted(tested)):
        # The smallest p is multiplied by the number of all tests, the next one by one less.
        num_remaining = len(ps) - rank
        # An adjusted p is not below the adjusted p of a smaller one.
        largest = max(largest, p * num_remaining)
        adjusted[index] = float(min(largest, 1.0))
    return adjusted


def can_decide(smallest: Sequence[float | None]) -> list[bool]:
    """Return for each test whether its p, adjusted over all of them (Holm), can fall below LEVEL.

    An adjusted p never falls when another p rises, so all tests are taken at their smallest p.

    Args:
      smallest: smallest p of each test before the adjustment; None for no result.
    """
    return [p is not None and p < LEVEL for p in holm(smallest)]


def smallest_p_of_counts(count_a: int, count_b: int) -> float | None:
    """Return the smallest p of Barnard's test for these numbers of runs; None if one is 0."""
    if not count_a or not count_b:
        return None
    return float(barnard_table(count_a, count_b).min())


def smallest_p_of_pairs(pairs: int) -> float | None:
    """Return the smallest p of the sign-flip test for a number of pairs; None without pairs."""
    return sign_flip([1.0] * pairs)  # the most extreme outcome: all have one sign


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
    if table.ndim != 2:  # no task
        return None
    tasks, variants = table.shape
    if tasks < RANKS_FROM or variants < 3:
        return None
    if not np.ptp(table, axis=1).any():
        return None
    # Demsar 2006: the studentized range over sqrt(2), times sqrt(k (k + 1) / 6 N).
    quantile = stats.studentized_range.ppf(CONFIDENCE, variants, np.inf)
    error = math.sqrt(variants * (variants + 1) / (6 * tasks))
    critical_difference = float(quantile / math.sqrt(2)) * error
    ranks_of_tasks = stats.rankdata(-table, axis=1)  # the largest score has rank 1
    test = stats.friedmanchisquare(*table.T)
    mean = tuple(map(float, ranks_of_tasks.mean(axis=0)))
    return Ranks(mean, float(test.pvalue), critical_difference)
