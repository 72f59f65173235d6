"""The interval of a share of runs that share their seeds.

Runs of one seed at several learning rates have the same initial weights and the same data, so they
tell less than as many independent runs. The interval is Wilson's with an effective number of runs:
the number of runs divided by the design effect, which is the variance of the share between seeds
relative to the variance of independent runs (Kish 1965, "Survey Sampling", section 8.2).
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from pe_lab.results import statistics
from pe_lab.results.statistics import Interval


def interval(successes: ArrayLike, runs: ArrayLike) -> Interval | None:
    """Return the interval of the share of successful runs; None without runs.

    Args:
      successes: successful runs of each seed.
      runs: runs of each seed.
    """
    k = np.asarray(successes, float)
    n = np.asarray(runs, float)
    k, n = k[n > 0], n[n > 0]
    if not len(n):
        return None
    p = k.sum() / n.sum()
    effective = _effective_runs(k, n, p)
    return statistics.wilson(p * effective, effective)


def _effective_runs(k: Float[np.ndarray, "s"], n: Float[np.ndarray, "s"], p: float) -> float:
    """Return the effective number of runs, from the number of seeds to the number of runs."""
    total, num_seeds = n.sum(), len(n)
    if p in (0, 1) or num_seeds == 1:
        return float(num_seeds)  # equal outcomes say nothing about the design effect
    between = num_seeds / (num_seeds - 1) * ((k - p * n) ** 2).sum() / total**2
    design_effect = between / (p * (1 - p) / total)
    return float(np.clip(total / design_effect, num_seeds, total)) if between else float(total)
