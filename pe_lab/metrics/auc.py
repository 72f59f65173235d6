"""Mean exact match from the training length to twice it, over length."""

import numpy as np

from pe_lab.metrics.base import MeasuredRun, RunMetric

AREA_TO = 2.0  # end of the areas in training lengths, so that studies of other lengths agree
# Points of the areas over length and over its log, made once and not for each run.
_GRID = np.linspace(1.0, AREA_TO, 65)
_LOG_GRID = np.linspace(0.0, np.log(AREA_TO), 65)
_RATIOS = np.exp(_LOG_GRID)


class Auc(RunMetric):
    label = "area, 1× to 2×"
    range = (0.0, 1.0)
    tested_to = AREA_TO

    def of_run(self, run: MeasuredRun, offset: int) -> float | None:
        return area(run, offset)


def area(run: MeasuredRun, offset: int = 0, *, log: bool = False) -> float | None:
    """Return the mean exact match from the training length to twice it, over length or its log.

    Values between measured lengths are interpolated. None if these do not reach both ends, or if
    one of them has no value.
    """
    lengths = run.lengths(offset) if run.max_length else []
    ratios = [length / run.max_length for length in lengths]
    if not ratios or min(ratios) > 1 or max(ratios) < AREA_TO:
        return None
    # The nearest measured lengths outside of the range take part in the interpolation.
    first = max(ratio for ratio in ratios if ratio <= 1)
    last = min(ratio for ratio in ratios if ratio >= AREA_TO)
    xs, ys = [], []
    for length, ratio in zip(lengths, ratios, strict=True):
        value = run.at(length, offset)
        if not first <= ratio <= last:
            continue
        if value is None:
            return None
        xs.append(ratio)
        ys.append(value)
    grid = _LOG_GRID if log else _GRID
    # Interpolated over length in both cases; only the mean is over its logarithm.
    curve = np.interp(_RATIOS if log else grid, xs, ys)
    return float(np.trapezoid(curve, grid) / (grid[-1] - grid[0]))
