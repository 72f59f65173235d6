"""Mean exact match over the test lengths up to the training length."""

import math

from pe_lab.metrics.base import MeasuredRun, RunMetric


class InDistribution(RunMetric):
    label = "up to training length"
    range = (0.0, 1.0)

    def of_run(self, run: MeasuredRun, offset: int) -> float | None:
        values = [value for length, value in run.curve(offset) if length <= run.max_length]
        return math.fsum(values) / len(values) if values else None
