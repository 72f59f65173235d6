"""Whether validation exact match over the training lengths reaches the threshold of the task."""

from pe_lab.metrics.base import MeasuredRun, RunMetric


class Solved(RunMetric):
    label = "solved"
    by_offset = False
    of_training = True
    style = "count"
    show = "solved"

    def of_run(self, run: MeasuredRun, offset: int) -> int:
        return int(run.solved)
