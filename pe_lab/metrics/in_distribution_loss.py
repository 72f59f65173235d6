"""Mean validation loss up to the training length, by which settings are chosen."""

import math

from pe_lab.metrics.base import MeasuredRun, RunMetric


class InDistributionLoss(RunMetric):
    label = "validation loss"
    range = (0.0, math.inf)
    lower_is_better = True
    by_offset = False
    style = "small"

    def of_run(self, run: MeasuredRun, offset: int) -> float | None:
        return run.validation_loss if math.isfinite(run.validation_loss) else None
