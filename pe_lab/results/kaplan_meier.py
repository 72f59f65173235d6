"""Shares and medians over runs of the first steps that reach a threshold.

Runs that did not reach it are right-censored. The estimator is from Kaplan and Meier 1958,
"Nonparametric Estimation from Incomplete Observations", and SciPy computes it. It assumes that
censoring does not depend on the outcome: a run that `train.criterion` ended early is counted as if
it might have extrapolated later.
"""

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from pe_lab.results.statistics import CONFIDENCE, EXACT_FROM
from pe_lab.runs.records import records
from pe_lab.runs.studies.first_steps import FirstStep


@dataclass(frozen=True)
class Reached:
    """Kaplan and Meier's estimate of the share of runs that have reached a threshold.

    Attributes:
      steps: every step at which a run reached it or was censored.
      shares: at these steps and up to the next one.
      low, high: interval of each share (log-log, from Greenwood's variance).
    """

    steps: Int[np.ndarray, "n"]
    shares: Float[np.ndarray, "n"]
    low: Float[np.ndarray, "n"]
    high: Float[np.ndarray, "n"]


@functools.lru_cache(maxsize=64)  # the median and its interval read the same estimate
def reached(times: tuple[FirstStep, ...]) -> Reached:
    """Return the estimate for the runs of a variant, of which there is at least one."""
    from scipy import stats  # slow to import

    steps = [time.step for time in times]
    is_censored = [not time.reached for time in times]
    censored = stats.CensoredData.right_censored(steps, is_censored)
    remaining = stats.ecdf(censored).sf
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        band = remaining.confidence_interval(CONFIDENCE, method="log-log")
    shares = remaining.probabilities
    lowest = _defined(band.low.probabilities, shares, start=0.0)
    highest = _defined(band.high.probabilities, shares, start=1.0)
    # The more runs remain, the fewer have reached it.
    return Reached(
        steps=remaining.quantiles.astype(int),
        shares=1 - shares,
        low=1 - highest,
        high=1 - lowest,
    )


def _defined(
    bounds: Float[np.ndarray, "n"], shares: Float[np.ndarray, "n"], start: float
) -> Float[np.ndarray, "n"]:
    """Fill in a bound of the remaining share where its variance is not defined.

    Where no run has reached the threshold, the bound is the share. Where all have, the bound is the
    last one that is defined, or `start`.
    """
    is_unreached = shares == 1
    defined = pd.Series(bounds).mask(is_unreached).ffill().fillna(start)
    return np.where(is_unreached, shares, defined)


def median(times: Sequence[FirstStep]) -> FirstStep | None:
    """Return the median over runs; None without runs.

    It is censored if fewer than half of the runs reached the threshold.
    """
    if not times:
        return None
    estimate = reached(tuple(times))
    num_reached = sum(time.reached for time in times)
    if 2 * num_reached >= len(times):
        return _crossing(estimate.steps, estimate.shares)
    # With runs censored early, the share may cross one half nevertheless.
    is_below = estimate.shares < 0.5 - records.ROUNDING
    last = estimate.steps[is_below][-1]
    return FirstStep(int(last), reached=False)


def interval(times: Sequence[FirstStep]) -> tuple[FirstStep, FirstStep] | None:
    """Return an interval of the median (Brookmeyer and Crowley 1982); None below five runs.

    It holds the steps at which the interval of the share contains one half. Its upper end is
    censored if the data do not bound it.
    """
    if len(times) < EXACT_FROM:
        return None
    estimate = reached(tuple(times))
    # The upper bound of the share is the first to cross one half.
    first = _crossing(estimate.steps, estimate.high)
    last = _crossing(estimate.steps, estimate.low)
    return first, last


def _crossing(steps: Int[np.ndarray, "n"], shares: Float[np.ndarray, "n"]) -> FirstStep:
    """The first step at which a share is at least one half."""
    is_above = shares >= 0.5 - records.ROUNDING
    if not is_above.any():
        return FirstStep(int(steps[-1]), reached=False)
    first = steps[is_above][0]
    return FirstStep(int(first))
