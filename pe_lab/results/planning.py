"""Number of seeds that a contrast needs, computed from the finished runs (the pilot).

The contrast's table has the same tests. The level is the first step of Holm's method.

if true     the rates of extrapolation are the pilot's
averaged    the power is the mean over all rates that agree with the pilot (a beta distribution
            for each rate, from Jeffreys' prior). It may stay below the required power for any
            number of seeds, if the two variants may not differ at all
paired      the differences of shared seeds are normal, with the pilot's mean and an upper bound of
            the pilot's standard deviation, at 80 %. The sign-flip test has a least number of pairs
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float

from pe_lab.results import compare, notes, significance, statistics
from pe_lab.results.compare import Comparison, Counts
from pe_lab.results.results import Results
from pe_lab.runs.errors import UserError

MOST = 60  # largest number of seeds of each variant that is tried
# Confidence of the upper bound of the standard deviation of differences.
_CONFIDENCE = 0.8
_MIN_RUN = 4  # consecutive numbers of seeds that must reach the power


@dataclass(frozen=True)
class Need:
    """Seeds of each variant for one contrast.

    None: more than MOST seeds, or the pilot does not determine the number.
    """

    comparison: Comparison
    if_true: int | None
    averaged: int | None
    paired: int | None


def seeds_needed(results: Results, power: float) -> list[Need]:
    """Return the seeds for each contrast of the analysis spec.

    Raises:
      UserError: the power is not between 0 and 1, or the analysis spec has no contrasts.
    """
    if not 0 < power < 1:
        raise UserError(
            f"--seeds_needed must be a power between 0 and 1, such as 0.8, got {power:g}."
        )
    # An equivalence has no p that seeds could bring below a level.
    comparisons = [c for c in compare.contrasts(results) if c.margin is None]
    if not comparisons:
        raise UserError(
            f"The analysis spec of {results.name} has no contrasts. Add contrasts to the "
            f"config's analysis()."
        )
    level = _level(comparisons)
    return [_need(comparison, power, level) for comparison in comparisons]


def text(results: Results, power: float, needs: Sequence[Need]) -> str:
    """Return a text with a line for each contrast."""
    comparisons = [need.comparison for need in needs]
    lines = [
        f"Seeds of each variant for a power of {power:g} at p < {_level(comparisons):.2g}: 0.05 "
        f"over {notes.listed([len(comparisons)], 'declared contrast')} (Holm's first step). The "
        f"finished runs are the pilot.",
        "if true: the pilot's rates of extrapolation are true; averaged: mean over the rates that "
        "agree with the pilot; paired: for a − b on shared seeds.",
    ]
    pilot_counts = []
    for need in needs:
        comparison = need.comparison
        count_a, count_b = comparison.counts
        pilot_counts += [count_a.count, count_b.count]
        seeds = (
            f"if true {_number(need.if_true)}, averaged {_number(need.averaged)}, paired "
            f"{_number(need.paired)}"
        )
        if comparison.reason:
            seeds = f"(not compared: {comparison.reason})"
        names = f"{comparison.a.name} against {comparison.b.name}"
        lines.append(f"  {names}: {seeds}; pilot {count_a} against {count_b}")
    smallest = min(pilot_counts)
    if smallest < statistics.BOOTSTRAP_FROM:
        lines.append(
            f"The rates of a pilot of {smallest} seeds are very uncertain: use the averaged number."
        )
    return "\n".join(lines)


def _level(comparisons: Sequence[Comparison]) -> float:
    """Return the level of Holm's first step, over all declared contrasts."""
    return significance.LEVEL / len(comparisons)


def _need(comparison: Comparison, power: float, level: float) -> Need:
    if comparison.reason:
        return Need(comparison, None, None, None)
    pairs = pairs_needed(comparison.differences, power, level)
    a, b = comparison.counts
    # A text has no exact match that could extrapolate.
    if not a.count or not b.count or comparison.metric.name != "exact_match":
        return Need(comparison, None, None, pairs)

    def power_if_true(seeds: int) -> float:
        return power_of(a, b, seeds, level, averaged=False)

    def power_averaged(seeds: int) -> float:
        return power_of(a, b, seeds, level, averaged=True)

    if_true = _first(power, power_if_true)
    averaged = _first(power, power_averaged)
    return Need(comparison, if_true, averaged, pairs)


def power_of(a: Counts, b: Counts, seeds: int, level: float, *, averaged: bool) -> float:
    """Return the probability that Barnard's test of this many new seeds gives p below a level.

    The probability is exact: the sum over all outcomes of both variants.
    """
    outcomes_a = _outcomes(a, seeds, averaged=averaged)
    outcomes_b = _outcomes(b, seeds, averaged=averaged)
    joint = np.outer(outcomes_a, outcomes_b)
    return float((joint * _rejects(seeds, level)).sum())


def _outcomes(pilot: Counts, seeds: int, *, averaged: bool) -> Float[np.ndarray, "n"]:
    """Return the probability of each number of extrapolating runs, from 0 to `seeds`."""
    from scipy import stats

    numbers = np.arange(seeds + 1)
    if averaged:
        others = pilot.count - pilot.extrapolating
        # Jeffreys' prior of a rate is a beta distribution with 1/2 and 1/2.
        return stats.betabinom.pmf(numbers, seeds, pilot.extrapolating + 0.5, others + 0.5)
    rate = pilot.extrapolating / pilot.count
    return stats.binom.pmf(numbers, seeds, rate)


def pairs_needed(differences: Sequence[float], power: float, level: float) -> int | None:
    """Return the pairs that a mean difference needs, by Student's noncentral t.

    None: more than MOST, fewer than two differences, or a mean of 0.
    """
    from scipy import stats

    if len(differences) < 2:
        return None
    mean = abs(float(np.mean(differences)))
    if not mean:
        return None
    degrees = len(differences) - 1
    # The pilot's deviation is uncertain, and too small a one would promise too much.
    factor = math.sqrt(degrees / stats.chi2.ppf(1 - _CONFIDENCE, degrees))
    deviation = float(np.std(differences, ddof=1)) * factor
    fewest = math.ceil(1 + math.log2(1 / level))  # 2 / 2^n is the least p of n pairs
    if not deviation:
        return fewest

    def power_of_pairs(pairs: int) -> float:
        critical = stats.t.ppf(1 - level / 2, pairs - 1)
        shift = mean / deviation * math.sqrt(pairs)
        return float(stats.nct.sf(critical, pairs - 1, shift))

    pairs = _first(power, power_of_pairs)
    return None if pairs is None else max(pairs, fewest)


def _first(power: float, power_of_seeds: Callable[[int], float]) -> int | None:
    """Return the least number of seeds that reaches the power, and so do the next three numbers.

    The power of an exact test does not rise with every seed.
    """
    num_reaching = 0  # without a gap
    for seeds in range(2, MOST + _MIN_RUN):
        if power_of_seeds(seeds) < power:
            num_reaching = 0
            continue
        num_reaching += 1
        if num_reaching == _MIN_RUN:
            return seeds - _MIN_RUN + 1
    return None


@lru_cache(maxsize=256)
def _rejects(seeds: int, level: float) -> Bool[np.ndarray, "n n"]:
    # Cached, because every contrast asks for the same tables.
    return significance.barnard_table(seeds, seeds) < level


def _number(seeds: int | None) -> str:
    return f"more than {MOST}" if seeds is None else str(seeds)
