"""First step of the curve at which the run reaches the threshold of extrapolation."""

from pe_lab.metrics.base import MeasuredRun, RunMetric
from pe_lab.runs.studies import outcomes
from pe_lab.runs.studies.outcomes import FirstStep


class StepsToExtrapolate(RunMetric):
    label = "steps to extrapolate"
    lower_is_better = True
    by_offset = False
    of_training = True
    style = "first_step"

    def of_run(self, run: MeasuredRun, offset: int) -> FirstStep | None:
        return outcomes.steps_to_extrapolate(run.record, run.extrapolation)
