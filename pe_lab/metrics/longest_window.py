"""Longest window of a text up to which more context does no harm.

It is the longest measured length up to which no length has a loss above that of the training
length, on the same bytes, by more than `TOLERANCE`. A length that the encoding cannot read ends it.
"""

from pe_lab.metrics import bits_per_byte
from pe_lab.metrics.base import Limit, MeasuredRun, RunMetric

TOLERANCE = 0.01  # bits per byte, or per token where its bytes are not known


class LongestWindow(RunMetric):
    label = "longest window"
    style = "limit"

    def of_run(self, run: MeasuredRun, offset: int) -> Limit | None:
        bits = bits_per_byte.by_length(run, offset)
        in_training = bits.get(run.max_length)
        if in_training is None:
            return None
        longest = run.max_length
        for length, value in bits.items():
            if length <= run.max_length:
                continue
            if value is None or value > in_training + TOLERANCE:
                return Limit(longest)
            longest = length
        return Limit(longest, 1)
