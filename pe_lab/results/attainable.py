"""Smallest p values that the seeds of a study can give.

A p value that no outcome of the seeds could bring below LEVEL decides nothing. Tables leave it out.
"""

from collections.abc import Sequence

from pe_lab.results import statistics

LEVEL = 0.05


def of_counts(count_a: int, count_b: int) -> float | None:
    """Smallest p of Barnard's test over all outcomes of so many runs. None if a side has no run."""
    if not count_a or not count_b:
        return None
    return float(statistics.barnard_table(count_a, count_b).min())


def of_pairs(pairs: int) -> float | None:
    """Smallest p of the sign-flip test: that of differences that are all equal. None without
    pairs.
    """
    return statistics.sign_flip([1.0] * pairs)


def decides(smallest: Sequence[float | None]) -> list[bool]:
    """Return for each test whether its p, adjusted over all of them (Holm), can fall below LEVEL.

    An adjusted p never falls when another p rises, so all tests are taken at their smallest p.

    Args:
      smallest: smallest p of each test before the adjustment; None for what is not tested.
    """
    return [p is not None and p < LEVEL for p in statistics.holm(smallest)]
