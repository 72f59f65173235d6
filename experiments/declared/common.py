"""Runs of studies, and shares of the solved ones that extrapolate."""

import itertools
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from configs import convolution
from pe_lab.contrib.grids import clustered, rule_comparison, run_scores
from pe_lab.results import frame
from pe_lab.results.statistics import Interval
from pe_lab.runs.errors import UserError

SCORE, THRESHOLD = run_scores.at(2), 0.9
RATE, LOSS = "train.learning_rate", run_scores.LOSS
LEAST_TAU = 0.6


def read(folders: Sequence[str]) -> pd.DataFrame:
    """Return the runs of some studies, each once.

    Columns: those of `run_scores.of`; rate; and row: the labels of all axes but task and rate, such
    as "nope · convolution". The words for no convolution and no sinks are left out.

    Raises:
      UserError: a study has no tasks, no learning rates or no test at twice the training length.
    """
    parts = []
    for folder in folders:
        study = frame.read(folder)
        runs = run_scores.of(study.numbers)
        check_columns(folder, runs.columns, ("task", RATE, SCORE))
        axes = [axis for axis in study.axes if axis in runs and axis not in ("task", RATE)]
        labels = runs[axes].replace([convolution.WITHOUT, "no sinks"], "")
        rows = labels.apply(lambda of_run: " · ".join(filter(None, of_run)), axis=1)
        parts.append(runs.assign(row=rows, rate=runs[RATE].astype(float)))
    return pd.concat(parts, ignore_index=True).drop_duplicates("run_id")


def check_columns(folder: str, columns: Collection[str], needed: Sequence[str]) -> None:
    """Raise a UserError if the study in a folder is of another form."""
    for name in needed:
        if name not in columns:
            raise UserError(f"{folder} is the folder of another form: its runs have no {name}.")


def check_one_of_each(
    folder: str,
    runs: pd.DataFrame,
    rows: tuple[str, Sequence[str]],
    tasks: Sequence[str],
    rates: Sequence[float],
    seeds: Sequence[int],
) -> None:
    """Raise a UserError for the first run that a study lacks or has twice.

    Args:
      rows: a column, and the values that it has.
    """
    column, names = rows
    counts = runs.groupby([column, "task", "rate", "seed"]).size()
    for key in itertools.product(names, tasks, rates, seeds):
        count = counts.get(key, 0)
        if count != 1:
            row, task, rate, seed = key
            raise UserError(
                f"{folder} has {count} runs, not one, of {row} on {task} with rate {rate:g} and "
                f"seed {seed}."
            )


def chosen(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of one row and task at the rate that validation chooses, as in all tables."""
    return runs[runs["rate"] == run_scores.chosen(runs, "rate")]


def counts(runs: pd.DataFrame) -> pd.DataFrame:
    """Return for each seed the numbers of runs that are solved, and of those that extrapolate."""
    solved = runs["solved"].astype(bool)
    extrapolates = solved & (runs[SCORE] >= THRESHOLD)
    by_seed = pd.DataFrame({"extrapolates": extrapolates, "solved": solved, "seed": runs["seed"]})
    return by_seed.groupby("seed").sum()


def share(by_seed: pd.DataFrame) -> float:
    """Return the share of the solved runs that extrapolate; NaN if none is solved."""
    extrapolates, solved = by_seed.sum()
    return float(extrapolates / solved) if solved else np.nan


def share_text(by_seed: pd.DataFrame) -> str:
    extrapolates, solved = by_seed.sum()
    interval = clustered.interval(by_seed["extrapolates"], by_seed["solved"])
    return f"{extrapolates}/{solved}{interval_text(interval)}"


def interval_text(interval: Interval | None) -> str:
    return f" [{interval.low:+.2f}, {interval.high:+.2f}]" if interval else ""


def no_order(a: Sequence[float], b: Sequence[float]) -> str | None:
    """Return why two scores of rows have no Kendall's tau; None if they have one."""
    if len(a) < 2:
        return "no order: fewer than two rows"
    if np.isnan([a, b]).any():
        return "no order: a row has no score"
    if min(len(set(a)), len(set(b))) < 2:
        return "no order: all rows have one score"
    return None


def kendall(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Kendall's tau-b of two lists of scores; NaN if all scores of one are equal."""
    return float(rule_comparison.kendall(np.array(a)[:, None], np.array(b)[:, None])[0])
