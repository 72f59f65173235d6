"""Exact match at the training length."""

from pe_lab.metrics.base import MeasuredRun, RunMetric


class TrainedLength(RunMetric):
    label = "at training length"
    range = (0.0, 1.0)
    tested_to = 1.0

    def of_run(self, run: MeasuredRun, offset: int) -> float | None:
        return run.at(run.max_length, offset)
