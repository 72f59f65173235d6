"""Do the order of rows and the share of the learning rate hold in larger models?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from configs import size_ladder
from experiments.declared import common
from pe_lab.contrib.grids import variance
from pe_lab.results import statistics
from pe_lab.results.statistics import Interval


def scores(runs: pd.DataFrame, tasks: Sequence[str]) -> "pd.Series[float]":
    """Return the score of each row: the mean over tasks at the rate that validation chose."""
    by_row = {}
    for row, row_runs in runs.groupby("row", sort=False):
        of_tasks = [_score(row_runs[row_runs["task"] == task]) for task in tasks]
        by_row[row] = np.mean(of_tasks)
    return pd.Series(by_row)


def _score(runs: pd.DataFrame) -> float:
    """Return the mean over seeds at the one of the two declared rates that validation chooses."""
    scores = common.chosen(runs)[common.SCORE]
    return float(scores.fillna(0).mean())  # a diverged run has no score


def rate_share(values: NDArray[np.float64]) -> float:
    """Return the share of the learning rate in the variance of [row, rate, seed] of one task."""
    return variance.shares(values, ("row", "rate", "seed"))["rate"]


def fall_of_rate_share(
    small: Sequence[NDArray[np.float64]], large: Sequence[NDArray[np.float64]]
) -> tuple[float, Interval]:
    """Return the share of the rate in large models minus that in small ones, mean over tasks.

    Args:
      small, large: [row, rate, seed] of each task. Both sizes have the same rows and seeds.

    Returns:
      The difference, and its jackknife interval over seeds, from -1 to 1 at most.
    """
    from scipy import stats

    def statistic(parts: tuple[Sequence[NDArray[np.float64]], ...]) -> float:
        before, after = (np.mean([rate_share(values) for values in part]) for part in parts)
        return float(after - before)

    def without(part: Sequence[NDArray[np.float64]], seed: int) -> list[NDArray[np.float64]]:
        return [np.delete(values, seed, axis=2) for values in part]

    num_seeds = small[0].shape[2]
    center = statistic((small, large))
    estimates = [statistic((without(small, s), without(large, s))) for s in range(num_seeds)]
    quantile = stats.t.ppf((1 + statistics.CONFIDENCE) / 2, num_seeds - 1)
    half = quantile * (num_seeds - 1) ** 0.5 * float(np.std(estimates))
    low, high = max(-1.0, center - half), min(1.0, center + half)
    return center, Interval(float(low), float(high), "jackknife")


@dataclass(frozen=True)
class SizeComparison:
    """A size against the models of width 64.

    Attributes:
      scores: by row, with the columns "small" and "large".
      tau: Kendall's tau of the two columns; None if they have no order.
      change: the share of the rate in large models minus that in small ones, and its interval; None
        if no task has two rows that are always solved.
      num_tasks: the tasks of this mean.
    """

    scores: pd.DataFrame
    tau: float | None
    change: tuple[float, Interval] | None
    num_tasks: int


def comparison(
    runs: pd.DataFrame, reference: pd.DataFrame, solved_in: pd.DataFrame | None = None
) -> SizeComparison:
    """Compare the order of the rows and the share of the rate with models of width 64.

    Args:
      solved_in: runs of another size. The share is that of rows which are solved there, too.

    Raises:
      UserError: a size does not have one run of each row, task, rate and seed.
    """
    runs, reference = _of_ladder(runs), _of_ladder(reference)
    sizes = [reference, runs] + ([] if solved_in is None else [_of_ladder(solved_in)])
    tasks = [task for task in size_ladder.TASKS if task in set(runs["task"])]
    seeds = range(size_ladder.SEEDS)
    for name, size in zip(("--reference", "FOLDER", "--solved-in"), sizes, strict=False):
        rows = ("row", list(dict.fromkeys(runs["row"])))
        where = f"size_ladder: {name}"
        common.check_one_of_each(where, size, rows, tasks, size_ladder.RATES, seeds)
    large = scores(runs, tasks)
    small = scores(reference[reference["row"].isin(large.index)], tasks)[large.index]
    columns = pd.DataFrame({"small": small, "large": large})
    pair = small.tolist(), large.tolist()
    tau = None if common.no_order(*pair) else common.kendall(*pair)
    grids = []
    for task in tasks:
        task_runs = [size[size["task"] == task] for size in sizes]
        solved = sorted(set.intersection(*map(_solved_rows, task_runs)))
        if len(solved) > 1:  # a share needs two rows
            pair_of_grids = [_grid(size, solved) for size in task_runs[:2]]
            if all(scores.std() > 0 for scores in pair_of_grids):  # and scores that vary
                grids.append(pair_of_grids)
    change = fall_of_rate_share(*zip(*grids, strict=True)) if grids else None
    return SizeComparison(columns, tau, change, len(grids))


def size_ladder_lines(
    runs: pd.DataFrame, reference: pd.DataFrame, solved_in: pd.DataFrame | None = None
) -> list[str]:
    """Return the lines of a comparison with models of width 64."""
    result = comparison(runs, reference, solved_in)
    lines = []
    for row, (small, large) in result.scores.iterrows():
        lines.append(f"{row:26} {small:.2f} at width 64, {large:.2f} here")
    if result.tau is None:
        columns = (result.scores[name].tolist() for name in result.scores)
        lines.append(common.no_order(*columns) or "")
    else:
        verdict = "the order holds" if result.tau > common.LEAST_TAU else "another order"
        lines.append(f"tau {result.tau:.2f}: {verdict}")
    if result.change is None:
        return [*lines, "share of the rate: no task has two rows that are always solved"]
    center, interval = result.change
    change = f"{center:+.2f}{common.interval_text(interval)}, mean over {result.num_tasks} tasks"
    return [*lines, f"share of the rate, here minus at width 64: {change}"]


def _of_ladder(runs: pd.DataFrame) -> pd.DataFrame:
    is_asked = runs["rate"].isin(size_ladder.RATES) & (runs["seed"] < size_ladder.SEEDS)
    return runs[is_asked & runs["task"].isin(size_ladder.TASKS)]


def _solved_rows(runs: pd.DataFrame) -> set[str]:
    """Return the rows of which every run is solved."""
    solved = runs.groupby("row")["solved"].all()
    return set(solved.index[solved])


def _grid(runs: pd.DataFrame, rows: Sequence[str]) -> NDArray[np.float64]:
    """Return the scores of one task, [row, rate, seed]."""
    table = runs.pivot(index="row", columns=["rate", "seed"], values=common.SCORE)
    shape = len(rows), len(size_ladder.RATES), -1
    return table.loc[rows].sort_index(axis=1).to_numpy().reshape(shape)
