"""Bits per token on the second half of a window that moves by half its length."""

import math

from pe_lab.metrics import negative_log_likelihood_by_place as by_place
from pe_lab.metrics.base import LengthMetric, MeasuredRun


class BitsPerTokenSliding(LengthMetric):
    label = "bits per token, second half of each window"
    range = (0.0, math.inf)
    lower_is_better = True
    style = "bits"

    def of_length(self, run: MeasuredRun, length: int, offset: int) -> float | None:
        row = run.rows.get((length, offset, by_place.METRIC))
        return None if row is None else by_place.bits_per_byte(row, max(1, length // 2))
