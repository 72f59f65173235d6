"""First step of the curve at which its exact match up to the training length is solved."""

from pe_lab.metrics.base import MeasuredRun, RunMetric
from pe_lab.runs.studies import outcomes
from pe_lab.runs.studies.outcomes import FirstStep


class StepsToSolve(RunMetric):
    label = "steps to solve"
    lower_is_better = True
    by_offset = False
    of_training = True
    style = "first_step"

    def of_run(self, run: MeasuredRun, offset: int) -> FirstStep | None:
        return outcomes.steps_to_solve(run.record)
