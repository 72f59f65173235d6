"""Mean exact match from the training length to twice it, over the logarithm of length.

The area of pe_lab/contrib/grids/run_scores.py goes on to the longest multiple that was measured.
"""

from pe_lab.metrics.auc import AREA_TO, area
from pe_lab.metrics.base import MeasuredRun, RunMetric


class LogAuc(RunMetric):
    label = "log area, 1× to 2×"
    range = (0.0, 1.0)
    tested_to = AREA_TO

    def of_run(self, run: MeasuredRun, offset: int) -> float | None:
        return area(run, offset, log=True)
