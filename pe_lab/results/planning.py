"""How many seeds a contrast needs: by the same test as in its table, at the level that Holm's
method asks of the smallest p.

if true     the pilot's rates of extrapolation were the true ones
averaged    the power is the mean over all rates that a pilot of so few seeds leaves open (a beta
            distribution for each rate, from Jeffreys' prior). It may never reach the power that
            is wanted: most often the two variants may not differ at all
paired      the differences on shared seeds are normal, with the pilot's mean and the standard
            deviation that it leaves open at 80 %. The sign-flip test needs a least number of pairs
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pe_lab.results import compare, significance, statistics
from pe_lab.results.compare import Comparison, Counts
from pe_lab.results.results import Results
from pe_lab.runs.errors import UserError

MOST = 60  # seeds of each variant that are tried
_CAUTION = (
    0.8  # how surely the standard deviation of differences is not larger than the one planned with
)


@dataclass(frozen=True)
class Need:
    """Seeds of each variant for one contrast; None where MOST are too few, or the pilot says
    nothing.
    """

    comparison: Comparison
    if_true: int | None
    averaged: int | None
    paired: int | None


def seeds_needed(results: Results, power: float) -> list[Need]:
    """For each declared contrast.

    Raises:
      UserError: a power that is none, or a study without contrasts.
    """
    if not 0 < power < 1:
        raise UserError(f"--seeds_needed is a power between 0 and 1, such as 0.8, got {power:g}.")
    found = compare.contrasts(results)
    if not found:
        raise UserError(
            f"{results.name} declares no contrasts: say what is to be compared in the study's "
            f"analysis()."
        )
    level = significance.LEVEL / len(found)
    return [_need(c, power, level) for c in found]


def text(results: Results, power: float, needs: Sequence[Need]) -> str:
    """What is needed, a line each."""
    level = significance.LEVEL / len(needs)
    lines = [
        f"Seeds of each variant for a power of {power:g} at p < {level:.2g}: 0.05 over "
        f"{len(needs)} contrasts (Holm's first step).",
        "if true: the pilot's rates were the truth; averaged: over all that the pilot leaves "
        "open; paired: for a − b on shared seeds.",
    ]
    for need in needs:
        c = need.comparison
        why = f" (not compared: {c.reason})" if c.reason else ""
        pilot = f"pilot {c.counts[0]} against {c.counts[1]}"
        counts = (
            f"if true {_shown(need.if_true)}, averaged {_shown(need.averaged)}, paired "
            f"{_shown(need.paired)}"
        )
        lines.append(f"  {c.a.name} against {c.b.name}: {why.strip() or counts}; {pilot}")
    smallest = min(
        count
        for need in needs
        for count in (need.comparison.counts[0].count, need.comparison.counts[1].count)
    )
    if smallest < statistics.BOOTSTRAP_FROM:
        lines.append(
            f"A pilot of {smallest} seeds knows its rates to within half of the scale: believe "
            f"the averaged number."
        )
    return "\n".join(lines)


def _need(c: Comparison, power: float, level: float) -> Need:
    if c.reason:
        return Need(c, None, None, None)
    a, b = c.counts
    if not a.count or not b.count:
        return Need(c, None, None, pairs_needed(c.differences, power, level))
    return Need(
        c,
        _first(power, lambda n: power_of(a, b, n, level, averaged=False)),
        _first(power, lambda n: power_of(a, b, n, level, averaged=True)),
        pairs_needed(c.differences, power, level),
    )


def power_of(a: Counts, b: Counts, seeds: int, level: float, *, averaged: bool) -> float:
    """The probability that so many new seeds of each give p below a level, by Barnard's test:
    exactly, over all outcomes.
    """
    from scipy import stats

    k = np.arange(seeds + 1)
    if averaged:
        of_a, of_b = (
            stats.betabinom.pmf(k, seeds, c.extrapolating + 0.5, c.count - c.extrapolating + 0.5)
            for c in (a, b)
        )
    else:
        of_a, of_b = (stats.binom.pmf(k, seeds, c.extrapolating / c.count) for c in (a, b))
    return float((of_a[:, None] * of_b[None] * _rejects(seeds, level)).sum())


def pairs_needed(differences: Sequence[Any], power: float, level: float) -> int | None:
    """Pairs for a mean difference, by Student's noncentral t; None of fewer than two, or where
    there is no difference to find.
    """
    from scipy import stats

    count = len(differences)
    if count < 2 or not (centre := abs(float(np.mean(differences)))):
        return None
    deviation = float(np.std(differences, ddof=1)) * math.sqrt(
        (count - 1) / stats.chi2.ppf(1 - _CAUTION, count - 1)
    )
    fewest = math.ceil(1 + math.log2(1 / level))  # 2 / 2^n is the least p of n pairs
    if not deviation:
        return fewest

    def found(n: int) -> float:
        edge = stats.t.ppf(1 - level / 2, n - 1)
        return float(stats.nct.sf(edge, n - 1, centre / deviation * math.sqrt(n)))

    needed = _first(power, found)
    return None if needed is None else max(needed, fewest)


def _first(power: float, of: Any) -> int | None:
    """The least number of seeds from which the power is reached and kept for the next three: exact
    tests go up in steps.
    """
    reached = 0
    for n in range(2, MOST + 4):
        reached = reached + 1 if of(n) >= power else 0
        if reached == 4:
            return n - 3
    return None


@lru_cache(maxsize=256)
def _rejects(seeds: int, level: float) -> Any:
    return significance.barnard_table(seeds, seeds) < level


def _shown(seeds: int | None) -> str:
    return f"more than {MOST}" if seeds is None else str(seeds)
