"""Intervals at the setting that validation chose: each resample of the seeds chooses anew."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pe_lab.results import statistics
from pe_lab.results.cells import Key
from pe_lab.results.statistics import Array, Interval
from pe_lab.results.study import Study


def by_cell(study: Study, cells: Mapping[Key, pd.DataFrame]) -> dict[Key, Interval | None]:
    """Return the intervals of the interquartile means that depend on the choice.

    Args:
      study: after `selection.choose`.
      cells: the values of the runs of all settings, with the columns of `Study.candidates`.
    """
    assert study.settings is not None
    settings_of = dict(list(study.settings.groupby("variant")))
    intervals = {}
    for key, values in cells.items():
        name, *others = values["variant"].unique()
        settings = settings_of[name]
        compared = settings.loc[settings["is_chosen"], "runs"]
        # Choosing by validation varies with the seeds, too. If most seeds have the chosen setting
        # only, the interval takes it as given.
        are_most = (2 * compared > study.variants.at[name, "runs"]).all()
        if not others and len(settings) > 1 and are_most:
            intervals[key] = interval(values, settings["candidate"])
    return intervals


def interval(values: pd.DataFrame, candidates: pd.Series) -> Interval | None:
    """Return an interval of the interquartile mean of one variant.

    None below ten seeds that every candidate has finished.
    """
    known = values.dropna(subset="value")
    settings = []
    for candidate in candidates:
        runs = known[known["candidate"] == candidate]
        seeds = zip(runs["seed"], runs["data_seed"], strict=True)
        pairs = runs[["validation_loss", "value"]].to_numpy()
        settings.append(dict(zip(seeds, pairs, strict=True)))
    shared = [seed for seed in settings[0] if all(seed in runs for runs in settings)]
    if len(shared) < statistics.BOOTSTRAP_FROM:
        return None
    # A seed is resampled as a whole: its losses, which choose, and its outcomes.
    pairs = np.array([[runs[seed] for runs in settings] for seed in shared])  # [n, K, 2]
    of_seeds = np.concatenate([pairs[..., 0], pairs[..., 1]], axis=1)

    def of_the_best(sample: Array) -> Array | np.float64:
        losses, outcomes = np.split(sample, 2, axis=-1)
        # The mean is over the resampled seeds, so each resample chooses one of the K settings.
        best = losses.mean(axis=-2).argmin(axis=-1)
        of_best = np.take_along_axis(outcomes, best[..., None, None], axis=-1)
        return statistics.interquartile_mean(of_best[..., 0])

    return statistics.bootstrap([of_seeds], of_the_best)  # [n, 2 K]
