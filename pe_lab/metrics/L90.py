"""Longest measured length up to which exact match is at least 0.9."""

from itertools import accumulate

from pe_lab.metrics.base import Limit, MeasuredRun, RunMetric
from pe_lab.runs.records import records


class L90(RunMetric):
    label = "L90"
    at_extrapolation = True
    style = "limit"

    def of_run(self, run: MeasuredRun, offset: int) -> Limit | None:
        return limit(run, 0.9, offset)


def limit(run: MeasuredRun, threshold: float, offset: int = 0) -> Limit | None:
    """Return the longest length up to which exact match is at least a threshold.

    Exact match is smoothed by isotonic regression over lengths. A length that the encoding or the
    positions cannot reach counts as 0.
    """
    rows = {length: run.rows.get((length, offset, "exact_match")) for length in run.lengths(offset)}
    measured = {length: row for length, row in rows.items() if row is not None}
    if not measured:
        return None
    lengths = list(measured)
    # The regression is at least the threshold up to the length at which the sum of the weighted
    # differences from the threshold is largest, and nowhere if no sum is positive. This takes a
    # tenth of the time of the regression.
    least = threshold - records.ROUNDING
    sums = list(
        accumulate(
            (row["count"] or 1) * ((row["value"] or 0.0) - least) for row in measured.values()
        )
    )
    if max(sums) <= 0:
        return Limit(lengths[0], -1)  # below the shortest length
    longest = lengths[sums.index(max(sums))]
    return Limit(longest, int(longest == lengths[-1]))  # 1: the true limit may be longer
