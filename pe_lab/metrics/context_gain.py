"""Bits per byte that context beyond the training length saves, at the point of extrapolation.

The loss at the training length minus the loss there, on the same bytes; negative if context harms.
"""

from pe_lab.metrics import bits_per_byte
from pe_lab.metrics.base import MeasuredRun, RunMetric


class ContextGain(RunMetric):
    label = "gain from context"
    at_extrapolation = True
    style = "bits"

    def of_run(self, run: MeasuredRun, offset: int) -> float | None:
        bits = bits_per_byte.by_length(run, offset)
        length = run.extrapolation.point.length_for(run.max_length)
        before, after = bits.get(run.max_length), bits.get(length or 0)
        return None if before is None or after is None else before - after
