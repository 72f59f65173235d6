"""Rules that choose a setting, such as the learning rate, after a full grid was trained.

    of_runs = run_scores.of(frame.read(folder).numbers)
    runs = Runs.of(of_runs, rows=["model.encodings", "task"], setting="train.learning_rate",
                   columns=["solved", "validation loss", "1.25x", "2x"])
    scores(runs, lowest("validation loss"), "2x")

A rule sees one half of the seeds, and its choice is scored on the other half, for every division
of the seeds into halves (cross-fitting). Scoring a choice on the scores that it was made from would
be biased upwards. A rule that reads no test score can see all seeds (`halves=False`), as a user
does who chooses by validation. Intervals are percentile bootstrap intervals over the seeds. A seed
is drawn for all variants and settings at once, because these share its data.

The draws of a bootstrap are the last axis of the arrays, so that the means over the seeds of all
draws are one matrix product.

If several settings are equally good for a rule, its score is their mean. A setting at which a run
diverged is chosen only if every setting has such a run, and the score of a diverged run is 0.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from pe_lab.results import statistics
from pe_lab.results.summary import groups

Scores = Float[np.ndarray, "v c s"]  # variant, setting, seed
Weights = Float[np.ndarray, "s d"]  # how often each seed counts in each draw
# Weights of the settings in a choice; they sum to 1. Tied settings have equal shares.
Shares = Float[np.ndarray, "v c d"]

RESAMPLES = 2000


@dataclass(frozen=True)
class Runs:
    """The numbers of a full grid of runs.

    Attributes:
      variants: the labels of each variant.
      settings: the values of the axis that a rule chooses from, in their order.
      seeds: the seeds that every variant has at every setting.
      numbers: [variant, setting, seed] by name. "solved" is 0 or 1. NaN if a run diverged.
    """

    variants: pd.MultiIndex
    settings: tuple[object, ...]
    seeds: tuple[int, ...]
    numbers: Mapping[str, Scores]

    @classmethod
    def of(
        cls, frame: pd.DataFrame, *, rows: Sequence[str], setting: str, columns: Sequence[str]
    ) -> "Runs":
        """Return the runs of a table with one row a run.

        Args:
          frame: has the columns `rows`, `setting`, "seed" and `columns`.
          rows: the columns that tell variants apart.

        Raises:
          ValueError: a variant lacks a seed at a setting, or has it twice.
        """
        index = [*rows, setting, "seed"]
        if frame.duplicated(index).any():
            raise ValueError(f"Two runs have the same {', '.join(index)}.")
        table = frame.set_index(index)[list(columns)].astype(float)
        settings = tuple(key[0] for key in groups(frame, [setting]))  # numbers in their order
        seeds = tuple(sorted(frame["seed"].unique().tolist()))
        variants = pd.MultiIndex.from_frame(frame[list(rows)].drop_duplicates())
        full = pd.MultiIndex.from_tuples(
            [(*v, c, s) for v in variants for c in settings for s in seeds], names=index
        )
        missing = full.difference(table.index)
        if len(missing):
            raise ValueError(f"The grid lacks {len(missing)} runs, such as {missing[0]}.")
        shape = (len(variants), len(settings), len(seeds))
        table = table.loc[full]  # the order that the reshape below needs
        numbers = {name: table[name].to_numpy().reshape(shape) for name in columns}
        return cls(variants, settings, seeds, numbers)


@dataclass(frozen=True)
class SettingRule:
    """A rule that chooses a setting for each variant.

    Attributes:
      name: as in tables.
      reads: the numbers of runs that it reads.
      choose: (runs, weights of the seeds that it sees) -> shares of the settings.
    """

    name: str
    reads: tuple[str, ...]
    choose: Callable[[Runs, Weights], Shares]


def lowest(number: str, *, logarithm: bool = False, name: str = "") -> SettingRule:
    """Return the rule of the lowest mean, or of the lowest mean logarithm."""

    def choose(runs: Runs, weights: Weights) -> Shares:
        values = runs.numbers[number]
        if logarithm:
            # np.fmax would make the NaN of a diverged run the lowest loss.
            values = np.log(np.maximum(values, np.finfo(float).tiny))  # a loss may be 0
        return _best(-_mean(values, weights))

    return SettingRule(name or f"lowest {number}", (number,), choose)


def highest(number: str, *, name: str = "") -> SettingRule:
    """Return the rule of the highest mean."""

    def choose(runs: Runs, weights: Weights) -> Shares:
        return _best(_mean(runs.numbers[number], weights))

    return SettingRule(name or f"highest {number}", (number,), choose)


def random_solved() -> SettingRule:
    """Return the rule of a random setting among those that solve the task."""

    def choose(runs: Runs, weights: Weights) -> Shares:
        solving = _solving(runs, weights)  # all settings if none solves it
        return solving / solving.sum(axis=1, keepdims=True)

    return SettingRule("random solved setting", ("solved",), choose)


def middle_solved() -> SettingRule:
    """Return the rule of the middle setting among those that solve the task."""

    def choose(runs: Runs, weights: Weights) -> Shares:
        solving = _solving(runs, weights)
        rank = np.cumsum(solving, axis=1)  # 1, 2, … at the settings that solve the task
        middle = (solving.sum(axis=1, keepdims=True) + 1) / 2  # rank 2 of 3, rank 2.5 of 4
        is_middle = solving & (np.abs(rank - middle) <= 0.5)  # two settings for an even number
        return is_middle / is_middle.sum(axis=1, keepdims=True)

    return SettingRule("middle solved setting", ("solved",), choose)


def always(setting: object) -> SettingRule:
    """Return the rule of one setting for all variants."""

    def choose(runs: Runs, weights: Weights) -> Shares:
        shape = (len(runs.variants), len(runs.settings), weights.shape[1])
        shares = np.zeros(shape)
        shares[:, runs.settings.index(setting)] = 1
        return shares

    return SettingRule(f"always {setting}", (), choose)


def solved_then(rule: SettingRule) -> SettingRule:
    """Return a rule for which all settings that solve the task are equally good.

    If no setting solves it, `rule` decides. So losses of 5e-8 and 3e-7 are not compared.
    """

    def choose(runs: Runs, weights: Weights) -> Shares:
        # Stricter than `_solving`: all seeds that the rule sees must solve the task.
        solving = _all_solved(runs, weights)
        some = solving.any(axis=1, keepdims=True)
        shares = solving / np.maximum(solving.sum(axis=1, keepdims=True), 1)  # no 0 / 0
        return np.where(some, shares, rule.choose(runs, weights))

    return SettingRule(f"{rule.name}, ties if solved", ("solved", *rule.reads), choose)


def scores(
    runs: Runs, rule: SettingRule, score: str, *, halves: bool = True
) -> Float[np.ndarray, "v"]:
    """Return the score of a rule for each variant.

    Args:
      score: the number that counts, such as "2x".
      halves: cross-fitted; False: all seeds choose and count.
    """
    return scores_of_draws(runs, rule, score, each_once(runs), halves=halves)[:, 0]


def each_once(runs: Runs) -> Weights:
    """Return a single draw, in which each seed counts once."""
    return np.ones((len(runs.seeds), 1))


def scores_of_draws(
    runs: Runs, rule: SettingRule, score: str, draws: Weights, *, halves: bool = True
) -> Float[np.ndarray, "v d"]:
    """Return the score of a rule for each variant in each draw of the seeds, as `scores` does.

    Raises:
      ValueError: there is only one seed, so that no other seed can score the choice.
    """
    if len(runs.seeds) < 2:
        raise ValueError("A choice of a setting needs two seeds: one chooses, the other scores.")
    # Rules see NaN and avoid diverged runs; as a score, such a run counts as 0.
    values = np.nan_to_num(runs.numbers[score], nan=0.0)
    if not halves:
        return (rule.choose(runs, draws) * _mean(values, draws)).sum(axis=1)
    total = np.zeros((len(values), draws.shape[1]))
    num_halves = np.zeros(draws.shape[1])
    # With an even number of seeds, each half of a division is the first one once, so both choose.
    for is_first in _halves(len(runs.seeds)):
        # All copies of a drawn seed are in one half, so a choice is not scored on its own runs.
        chooses, counts = draws * is_first[:, None], draws * ~is_first[:, None]
        # A draw whose seeds are all in one half cannot be scored with this division.
        has_both = chooses.any(axis=0) & counts.any(axis=0)
        shares = rule.choose(runs, chooses[:, has_both])
        total[:, has_both] += (shares * _mean(values, counts[:, has_both])).sum(axis=1)
        num_halves += has_both
    return total / num_halves  # above 0 if every draw has two different seeds


def interval(
    runs: Runs, rule: SettingRule, score: str, *, halves: bool = True
) -> tuple[Float[np.ndarray, "v"], Float[np.ndarray, "v"]]:
    """Return the ends of the interval of a rule's score for each variant."""

    def of(draws: Weights) -> Float[np.ndarray, "v d"]:
        return scores_of_draws(runs, rule, score, draws, halves=halves)

    return bootstrap(of, len(runs.seeds))


def bootstrap(
    statistic: Callable[[Weights], Float[np.ndarray, "k d"]], num_seeds: int
) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k"]]:
    """Return the percentile intervals of statistics that depend on the counts of the seeds."""
    # Six seeds have only 462 different draws, so each different draw is computed once.
    draws, place = np.unique(_draws(num_seeds), axis=1, return_inverse=True)
    values = statistic(draws)[:, place]
    tail = (1 - statistics.CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail], axis=1)
    return low, high


def _draws(num_seeds: int) -> Weights:
    """Return how often each seed counts in each of RESAMPLES draws."""
    generator = np.random.default_rng(0)
    # A draw of a single seed cannot be halved and is dropped. With two seeds, this is half of all
    # draws, so four times as many are drawn as needed.
    drawn = generator.integers(num_seeds, size=(4 * RESAMPLES, num_seeds))
    counts = np.array([(drawn == index).sum(axis=1) for index in range(num_seeds)], float)
    has_two = np.count_nonzero(counts, axis=0) > 1
    return counts[:, has_two][:, :RESAMPLES]


def _halves(num_seeds: int) -> list[Bool[np.ndarray, "s"]]:
    """Return every choice of half of the seeds, as masks; the smaller part of an odd number."""
    masks = []
    for chosen in itertools.combinations(range(num_seeds), num_seeds // 2):
        masks.append(np.isin(np.arange(num_seeds), chosen))
    return masks


def _mean(values: Scores, weights: Weights) -> Shares:
    """Return the weighted means over the seeds; NaN if a seed with weight has no number."""
    # NaN * 0 is NaN, so a missing number of a seed without weight must not enter the product.
    is_missing = np.isnan(values)
    means = np.where(is_missing, 0, values) @ weights / weights.sum(axis=0)
    if is_missing.any():
        means[is_missing @ weights > 0] = np.nan
    return means


def _best(values: Shares) -> Shares:
    """Return equal shares of the largest values. NaN counts as the smallest value."""
    # If every setting has a diverged run, all are -inf and tie.
    values = np.where(np.isnan(values), -np.inf, values)
    is_best = values == values.max(axis=1, keepdims=True)
    return is_best / is_best.sum(axis=1, keepdims=True)


def _all_solved(runs: Runs, weights: Weights) -> Bool[np.ndarray, "v c d"]:
    """Return the settings at which every seed with weight solves the task."""
    return (runs.numbers["solved"] != 1) @ weights == 0


def _solving(runs: Runs, weights: Weights) -> Bool[np.ndarray, "v c d"]:
    """Return the settings that most runs solve; all settings if a variant has no such setting."""
    solving = _mean(runs.numbers["solved"], weights) > 0.5
    return solving | ~solving.any(axis=1, keepdims=True)
