"""Verdicts on the claims of a paper, by a rule that was committed before the runs.

    holds at the authors' size   a is better than b, the 95 % interval of a - b excludes 0, models,
                                 lengths and steps are the authors', and our mean difference is
                                 within 0.1 of theirs
    holds, scaled                the sign and the interval agree, at a smaller size
    does not hold                the interval excludes 0, and b is better than a
    depends on the length        the study declares a and b at another length beyond training, as a
                                 claim or as a contrast, with the same offset of positions, and both
                                 intervals exclude 0 on other sides
    not reached at the authors'  fewer than five seeds solved the training lengths, and our whole
    size                         interval is more than 0.1 below theirs
    undecided                    anything else, beyond the training lengths whenever fewer than five
                                 seeds of a or of b solved these, and if a run of a or b diverged

A claim about one variant alone is a figure, at the authors' size. It holds if the whole 95 %
interval of our mean is within 0.1 of the figure, and does not hold if the whole interval is further
away. Where a paper averages over the first runs that solve the task, a claim does so too
(first_solved), and its outcome has the number of seeds that were drawn.

A claim about a mean over pairs of variants, such as one pair for each task, is tested on the mean
over the pairs that are comparable, that five seeds of a and of b solved, and that have a run above
chance, over the seeds that all of these have.

The interval is Student's t from five pairs of seeds, and BCa from ten (statistics.py). Nothing is
adjusted for the number of claims, because each claim is one that a paper made.
"""

from typing import Literal

from pe_lab.results.statistics import Interval

Verdict = Literal[
    "holds at the authors' size",
    "holds, scaled",
    "does not hold",
    "depends on the length",
    "not reached at the authors' size",
    "undecided",
]

TOLERANCE = 0.1  # between our number and theirs, at the authors' size
FEWEST_SEEDS = 5  # that solve the training lengths


def verdict(
    difference: float,
    interval: Interval | None,
    *,
    is_solved: bool,
    is_authors_size: bool,
    theirs: float | None,
) -> Verdict:
    """Return the verdict on the claim that a difference is above 0.

    Args:
      difference, interval: ours; above 0 if a is better than b.
      is_solved: whether enough seeds of both solved the training lengths.
      theirs: the paper's difference; None if none was read.
    """
    if interval is not None and is_authors_size and not is_solved and theirs is not None:
        return _reached(interval, theirs)
    if interval is None or not is_solved or interval.low <= 0 <= interval.high:
        return "undecided"
    if difference < 0:
        return "does not hold"
    if not is_authors_size:
        return "holds, scaled"
    is_near = theirs is not None and abs(difference - theirs) <= TOLERANCE
    return "holds at the authors' size" if is_near else "undecided"


def verdict_on_figure(interval: Interval, theirs: float, *, is_solved: bool) -> Verdict:
    """Return the verdict on a figure of the paper, from the interval of our mean.

    Args:
      interval, theirs: times -1 if lower values are better.
    """
    if not is_solved:
        return _reached(interval, theirs)
    low, high = interval.low - theirs, interval.high - theirs
    if low >= -TOLERANCE and high <= TOLERANCE:
        return "holds at the authors' size"
    if low > TOLERANCE or high < -TOLERANCE:
        return "does not hold"
    return "undecided"


def _reached(interval: Interval, theirs: float) -> Verdict:
    """Return the verdict at the authors' size where too few seeds solve the training lengths."""
    is_below = interval.high < theirs - TOLERANCE
    return "not reached at the authors' size" if is_below else "undecided"
