"""Medians over runs of the first steps that reach a threshold.

Runs that did not reach it are right-censored. The estimator is from Kaplan and Meier 1958,
"Nonparametric Estimation from Incomplete Observations", and SciPy computes it. It assumes that
censoring does not depend on the outcome: a run that `train.criterion` ended early is counted as if
it might have extrapolated later.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from pe_lab.runs.records import records
from pe_lab.runs.studies.outcomes import FirstStep


def reached(times: Sequence[FirstStep]) -> tuple[Int[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """Return the estimated share of the runs of a variant that have reached the threshold.

    Returns:
      Every step at which a run reached it or was censored, and the shares from there on.
    """
    from scipy import stats  # slow to import

    steps = [time.step for time in times]
    is_censored = [not time.reached for time in times]
    # `sf` is the share that has not reached it, which SciPy estimates with censored runs.
    remaining = stats.ecdf(stats.CensoredData.right_censored(steps, is_censored)).sf
    return remaining.quantiles.astype(int), 1 - remaining.probabilities


def median(times: Sequence[FirstStep]) -> FirstStep | None:
    """Return the median over runs; None without runs.

    It is censored if fewer than half of the runs reached the threshold.
    """
    if not times:
        return None
    steps, shares = reached(times)
    is_above = shares >= 0.5 - records.ROUNDING
    num_reached = sum(time.reached for time in times)
    if 2 * num_reached >= len(times):
        return FirstStep(int(steps[is_above][0]))
    # With runs censored early, the share may cross one half nevertheless.
    return FirstStep(int(steps[~is_above][-1]), reached=False)
