"""The cells of tables: each summarizes the runs of one group as text, number, interval and count.

SUMMARIES has the summaries by name. `summary.summarize` makes the groups.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped

from pe_lab.metrics.base import Limit, Value
from pe_lab.results import statistics
from pe_lab.results.formats import DASH, Cell, bracket, number
from pe_lab.results.run_rows import BOUNDS
from pe_lab.results.statistics import Array, Interval
from pe_lab.runs.records import records
from pe_lab.runs.settings.declarations import check_keys
from pe_lab.runs.studies.outcomes import FirstStep

Key = tuple[Any, ...]  # labels on the dimensions of a row or a column


@dataclass(frozen=True)
class Sample:
    """The runs of cells that have equally many of them.

    Attributes:
      keys: of the cells.
      numbers: one row for each run: variant, status, solved, value, …
      places: of the runs of each cell in the rows of `numbers`.
      style: of the metric.
      intervals: of some cells, if more than their runs decides them (choice_intervals.py).
    """

    keys: Sequence[Key]
    numbers: pd.DataFrame
    places: Int[np.ndarray, "cells runs"]
    style: str = "share"
    lower_is_better: bool = False
    intervals: Mapping[Key, Interval | None] = field(default_factory=dict)

    def __getitem__(self, column: str) -> Shaped[np.ndarray, "cells runs"]:
        """Return a column of the runs."""
        check_keys("The frame", [column], self.numbers)
        # Truth values with a gap are objects, which np.isnan refuses.
        dtype = float if column == "value" else None
        return self.numbers[column].to_numpy(dtype)[self.places]

    def values(self) -> list[list[Value | None]]:
        """Return the values of each cell as the metric states them; None without a value."""
        bounds = self["bound"] if "bound" in self.numbers else np.full(self.places.shape, "")
        cells = []
        for numbers, signs in zip(self["value"].tolist(), bounds.tolist(), strict=True):
            pairs = zip(numbers, signs, strict=True)
            # NaN is a number that differs from itself.
            cells.append(
                [_value_of(n, bound, self.style) if n == n else None for n, bound in pairs]
            )
        return cells

    def known(self) -> list[list[Any]]:
        """Return the values of each cell that are known."""
        return [[value for value in cell if value is not None] for cell in self.values()]


def by_count(
    values: Float[np.ndarray, "cells runs"],
) -> Iterator[tuple[Int[np.ndarray, "n"], Float[np.ndarray, "n known"]]]:
    """Yield the rows with equally many known values, and these values, so that none is NaN."""
    is_known = ~np.isnan(values)
    counts = is_known.sum(axis=1)
    for count in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == count)
        yield rows, values[rows][is_known[rows]].reshape(len(rows), count)


def _medians(sample: Sample) -> list[Cell]:
    if sample.style == "limit":
        return [_limit(values) for values in sample.known()]
    if sample.style == "first_step":
        return [_first_step(values) for values in sample.known()]
    variants = sample["variant"].tolist()
    cells = [Cell(DASH)] * len(variants)
    for rows, values in by_count(sample["value"]):
        medians = np.median(values, axis=1)
        for row, median, seeds in zip(rows, medians, values, strict=True):
            # Order statistics have no form for several strata.
            is_single = len(set(variants[row])) == 1
            interval = statistics.order_statistics(list(seeds)) if is_single else None
            cells[row] = _cell(sample, float(median), interval, len(seeds))
    return cells


def _interquartile_means(sample: Sample) -> list[Cell]:
    """The interquartile means. Limits and first steps have none, but a median."""
    if sample.style in ("limit", "first_step"):
        return _medians(sample)
    variants = sample["variant"]
    all_values = sample["value"]
    cells = [Cell(DASH)] * len(variants)
    for rows, values in by_count(all_values):
        means = np.asarray(statistics.interquartile_mean(values))
        for row, mean, seeds in zip(rows, means, values, strict=True):
            key = sample.keys[row]
            if key in sample.intervals:
                interval = sample.intervals[key]
            else:
                interval = _bootstrap(variants[row], all_values[row])
            cells[row] = _cell(sample, float(mean), interval, len(seeds))
    return cells


def _bootstrap(variants: Shaped[np.ndarray, "n"], values: Array) -> Interval | None:
    """Return an interval of the interquartile mean, stratified by variant; None if one has few."""
    known = ~np.isnan(values)
    strata = [values[known & (variants == variant)] for variant in dict.fromkeys(variants)]
    if min(map(len, strata)) < statistics.BOOTSTRAP_FROM:
        return None
    return statistics.bootstrap(strata, statistics.interquartile_mean)


def _cell(sample: Sample, center: float, interval: Interval | None, count: int) -> Cell:
    text = number(center, sample.style) + bracket(interval, sample.style)
    return Cell(text, center, interval, count)


def _means(sample: Sample) -> list[Cell]:
    """The means with standard deviations. Limits and first steps have none, but a median."""
    if sample.style in ("limit", "first_step"):
        return _medians(sample)
    cells = [Cell(DASH)] * len(sample.keys)
    for rows, values in by_count(sample["value"]):
        for row, seeds in zip(rows, values.tolist(), strict=True):
            mean, spread = statistics.mean(seeds), statistics.deviation(seeds)
            text = number(mean, sample.style)
            if spread is not None:
                text += f" ± {number(spread, sample.style, exact=False)}"
            cells[row] = Cell(text, mean, count=len(seeds))
    return cells


def _value_of(number: int | float, bound: str, style: str) -> Value:
    """Return the value that was stored as a number with its bound."""
    if style == "limit":
        sides = {text: side for side, text in BOUNDS.items()}
        return Limit(int(number), sides[bound])
    if style == "first_step":
        return FirstStep(int(number), reached=bound == "")
    return number


def _limit(values: Sequence[Limit]) -> Cell:
    """The median. There is no limit between the two middle ones of an even count: the lower one."""
    if not values:
        return Cell(DASH)
    middle = median_low(values)
    return Cell(str(middle), middle.length, count=len(values))


def _first_step(values: Sequence[FirstStep]) -> Cell:
    median = median_step(values)
    if median is None:
        return Cell(DASH)
    return Cell(str(median), median.step, count=len(values))


def kaplan_meier(times: Sequence[FirstStep]) -> tuple[Int[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """Return the estimated share of the runs of a variant that have reached a threshold.

    Runs that did not reach it are right-censored. The estimator is from Kaplan and Meier 1958,
    "Nonparametric Estimation from Incomplete Observations", and SciPy computes it. It assumes that
    censoring does not depend on the outcome: a run that `train.criterion` ended early is counted as
    if it might have extrapolated later.

    Returns:
      Every step at which a run reached it or was censored, and the shares from there on.
    """
    from scipy import stats  # slow to import

    steps = [time.step for time in times]
    is_censored = [not time.reached for time in times]
    # `sf` is the share that has not reached it, which SciPy estimates with censored runs.
    remaining = stats.ecdf(stats.CensoredData.right_censored(steps, is_censored)).sf
    return remaining.quantiles.astype(int), 1 - remaining.probabilities


def median_step(times: Sequence[FirstStep]) -> FirstStep | None:
    """Return the median first step over runs; None without runs.

    It is censored if fewer than half of the runs reached the threshold.
    """
    if not times:
        return None
    steps, shares = kaplan_meier(times)
    is_above = shares >= 0.5 - records.ROUNDING
    num_reached = sum(time.reached for time in times)
    if 2 * num_reached >= len(times):
        return FirstStep(int(steps[is_above][0]))
    # With runs censored early, the share may cross one half nevertheless.
    return FirstStep(int(steps[~is_above][-1]), reached=False)


def _every_seed(sample: Sample) -> list[Cell]:
    """The value of every run. A run without a value has a dash, so that none is left out."""
    cells = []
    for values in sample.values():
        text = " ".join(number(value, sample.style) for value in values)
        cells.append(Cell(text, count=len(values)))
    return cells


def _best(sample: Sample) -> list[Cell]:
    """The best value over all seeds."""
    choose = min if sample.lower_is_better else max
    cells = []
    for values in sample.known():
        value = choose(values, default=None)
        unrounded = value.length if isinstance(value, Limit) else value
        cells.append(Cell(number(value, sample.style), unrounded, count=len(values)))
    return cells


def _count(sample: Sample) -> list[Cell]:
    """The number of runs that have the value 1, of the known ones.

    If the outcome of a finished run is known, a run that diverged counts, too: finished runs may
    have been evaluated there later, and a diverged run cannot be.
    """
    values = sample["value"]
    columns = (sample["variant"], ~np.isnan(values), sample["status"] == "diverged")
    successes = (values == 1).sum(axis=1).tolist()
    cells = []
    for of_cell, variants, known, diverged in zip(successes, *columns, strict=True):
        is_measured = np.isin(variants, list(set(variants[known])))
        total = int((is_measured & (known | diverged)).sum())
        # The rates of several tasks are not one rate, so they have no interval.
        is_single = len(set(variants)) == 1
        interval = statistics.wilson(of_cell, total) if is_single else None
        text = f"{of_cell}/{total}{bracket(interval)}"
        cells.append(Cell(text, of_cell, interval, total) if total else Cell(DASH))
    return cells


def _solved(sample: Sample) -> list[Cell]:
    """The number of runs that are solved, and of runs that did not finish."""
    columns = (sample[name].tolist() for name in ("variant", "status", "solved", "is_text"))
    cells = []
    for variants, statuses, solved, is_text in zip(*columns, strict=True):
        count = sum(solved)
        text = f"{count}/{len(statuses)}"
        # A text has nothing to solve.
        texts = {variant for variant, is_one in zip(variants, is_text, strict=True) if is_one}
        if not count and not texts:
            text += " not solved"
        if texts == set(variants):
            text = DASH
        for status in ("diverged", "failed"):
            if status in statuses:
                text += f", {statuses.count(status)} {status}"
        cells.append(Cell(text, count, count=len(statuses)))
    return cells


SUMMARIES: dict[str, Callable[[Sample], list[Cell]]] = {
    "median": _medians,
    "mean": _means,
    "iqm": _interquartile_means,
    "seeds": _every_seed,
    "best": _best,
    "count": _count,
    "solved": _solved,
}
EMPTY = {"solved": Cell("0/0", 0)}  # cells without a run, if they are no dash
