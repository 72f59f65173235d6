"""Medians over runs of the first steps that reach a threshold.

Runs that did not reach it are right-censored. The estimator is from Kaplan and Meier 1958,
"Nonparametric Estimation from Incomplete Observations", and SciPy computes it. It assumes that
censoring does not depend on the outcome: a run that `train.criterion` ended early is counted as if
it might have extrapolated later.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from pe_lab.runs.records import records
from pe_lab.runs.studies.first_steps import FirstStep


@dataclass(frozen=True)
class Reached:
    """Kaplan and Meier's estimate of the share of runs that have reached a threshold.

    Attributes:
      steps: every step at which a run reached it or was censored.
      shares: at these steps and up to the next one.
    """

    steps: Int[np.ndarray, "n"]
    shares: Float[np.ndarray, "n"]


def reached(times: Sequence[FirstStep]) -> Reached:
    """Return the estimate for the runs of a variant, of which there is at least one."""
    from scipy import stats  # slow to import

    steps = [time.step for time in times]
    is_censored = [not time.reached for time in times]
    remaining = stats.ecdf(stats.CensoredData.right_censored(steps, is_censored)).sf
    return Reached(remaining.quantiles.astype(int), 1 - remaining.probabilities)


def median(times: Sequence[FirstStep]) -> FirstStep | None:
    """Return the median over runs; None without runs.

    It is censored if fewer than half of the runs reached the threshold.
    """
    if not times:
        return None
    estimate = reached(times)
    is_above = estimate.shares >= 0.5 - records.ROUNDING
    num_reached = sum(time.reached for time in times)
    if 2 * num_reached >= len(times):
        return FirstStep(int(estimate.steps[is_above][0]))
    # With runs censored early, the share may cross one half nevertheless.
    return FirstStep(int(estimate.steps[~is_above][-1]), reached=False)
