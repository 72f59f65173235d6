"""Exact match at twice the training length, relative to the training length."""

import math

from pe_lab.metrics.base import MeasuredRun, RunMetric


class Retention(RunMetric):
    label = "kept at 2×"
    range = (0.0, math.inf)
    tested_to = 2.0

    def of_run(self, run: MeasuredRun, offset: int) -> float | None:
        near, far = run.at(run.max_length, offset), run.at(2 * run.max_length, offset)
        return None if not near or far is None else far / near  # nothing is kept of 0
