"""Do convolutions put a model into the upper tier, and do more seeds change the tier?"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from configs import convolution, more_seeds
from experiments.declared import common
from pe_lab.results import statistics
from pe_lab.results.statistics import Interval
from pe_lab.runs.errors import UserError

TASKS_OF_MORE_SEEDS = ("copy", "copy repeated", "recall", "sort", "flip_flop")


def tier(runs: pd.DataFrame, row: str) -> str:
    """Return whether convolutions put a model into the upper tier of a task, by the declared rule.

    Args:
      runs: of one task.
      row: the model with convolutions.
    """
    biases = [common.counts(runs[runs["row"] == name]) for name in ("shaw", "kerple")]
    bar = np.min([common.share(bias) for bias in biases])  # NaN if one is
    row_counts = common.counts(runs[runs["row"] == row])
    if not bar > 0 or row_counts["solved"].sum() < 3:
        return "undecided"
    return "upper tier" if common.share(row_counts) >= bar else "below the upper tier"


def convolution_lines(runs: pd.DataFrame) -> list[str]:
    runs = runs[runs["rate"].isin(convolution.RATES_OF_TASKS)]
    lines = []
    for task, task_runs in runs.groupby("task", sort=False):
        for row, row_runs in task_runs.groupby("row", sort=False):
            verdict = tier(task_runs, row) if convolution.WITH in row else ""
            share = common.share_text(common.counts(row_runs))
            lines.append(f"{task:16} {row:20} {share:24} {verdict}".rstrip())
    return lines


def difference(old: pd.DataFrame, new: pd.DataFrame) -> tuple[float, Interval | None]:
    """Return the share of the new seeds minus that of the old ones, with a bootstrap interval.

    NaN without an interval if no run of one of them is solved.

    Args:
      old, new: results of `counts`, one row for each seed.
    """

    def statistic(both: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = []
        for part in (both[..., : len(old), :], both[..., len(old) :, :]):
            extrapolates, solved = part.sum(axis=-2)[..., 0], part.sum(axis=-2)[..., 1]
            shares.append(extrapolates / np.maximum(solved, 1))
        return shares[1] - shares[0]

    center = common.share(new) - common.share(old)
    if np.isnan(center):
        return center, None
    return center, statistics.bootstrap([old.to_numpy(float), new.to_numpy(float)], statistic)


def more_seeds_lines(runs: pd.DataFrame) -> list[str]:
    runs = runs[runs["rate"].isin(more_seeds.RATES) & runs["task"].isin(TASKS_OF_MORE_SEEDS)]
    is_new = runs["seed"].isin(list(more_seeds.SEEDS))
    if not is_new.any():
        raise UserError(f"The folders have no run of the seeds {more_seeds.SEEDS}.")
    lines, shares, excludes_zero = [], [], False
    for row in sorted(runs.loc[is_new, "row"].unique()):
        row_runs = runs["row"] == row
        old, new = common.counts(runs[row_runs & ~is_new]), common.counts(runs[row_runs & is_new])
        center, interval = difference(old, new)
        excludes_zero |= interval is not None and (interval.low > 0 or interval.high < 0)
        shares.append((common.share(old), common.share(new)))
        texts = f"{common.share_text(old)} -> {common.share_text(new)}"
        lines.append(f"{row:26} {texts}: {center:+.2f}{common.interval_text(interval)}")
    pair = [share for share, _ in shares], [share for _, share in shares]
    reason = common.no_order(*pair)
    if reason is not None and not excludes_zero:
        return [*lines, reason]
    tau = common.kendall(*pair)
    unchanged = tau >= common.LEAST_TAU and not excludes_zero
    return [*lines, f"tau {tau:.2f}: the tier is {'un' if unchanged else ''}changed"]
