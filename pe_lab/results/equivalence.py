"""Equivalence: do two variants differ by less than a margin that was declared before the runs?

A difference that is not significant does not show equivalence. Two variants are equivalent if the
whole 95 % interval of a - b lies within the margin, and different if it lies outside of it.
Schuirmann 1987, "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for
Assessing the Equivalence of Average Bioavailability", uses the 90 % interval, which is a level of
0.05 for each of the two tests. Here the interval is the table's, and the level is 0.025.
"""

from typing import Literal

from pe_lab.results.statistics import Interval

Verdict = Literal["alike", "different", "undecided"]


def verdict(interval: Interval | None, margin: float) -> Verdict:
    """Return the verdict of an interval of a difference; "undecided" without an interval."""
    if interval is None:
        return "undecided"
    if -margin < interval.low and interval.high < margin:
        return "alike"
    if interval.low > margin or interval.high < -margin:
        return "different"
    return "undecided"


def remark(interval: Interval | None, margin: float) -> str:
    """Return the verdict as a remark of a table of contrasts."""
    words = {
        "alike": f"alike: within ±{margin:g}",
        "different": f"differs by more than {margin:g}",
        "undecided": f"not shown to be within ±{margin:g}",
    }
    return words[verdict(interval, margin)]
