"""What rules of choice lose, and whether the rankings that they give agree.

    rules = [setting_rules.lowest("validation loss"), setting_rules.highest("1.25x")]
    regrets(runs, rules, "2x")
    agreement(runs, rules, "2x")

Scores are cross-fitted, and intervals draw the seeds anew (setting_rules.py). All rules see the
same draws, so intervals of differences are paired.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from pe_lab.contrib.grids import setting_rules
from pe_lab.contrib.grids.setting_rules import Runs, SettingRule, Weights

MOST_VARIANTS = 100  # with an interval of tau: every draw compares all pairs of variants
DIGITS = 2  # of the scores that are ranked, so that scores that tables print alike are ties


def regrets(
    runs: Runs, rules: Sequence[SettingRule], score: str, references: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the mean regret of each rule over the variants, with its interval.

    Regret is the score of the best setting minus the score of the rule's choice. The best setting
    is chosen by the score itself, on the same half of the seeds, and scored on the same other half.

    Args:
      references: names of rules that the others are compared with.

    Returns:
      One row for each rule, the index. Columns: regret, and "more than A" for each reference A, the
      difference from its regret; each with …_low and …_high.
    """
    names = [rule.name for rule in rules]

    def of(draws: Weights) -> Float[np.ndarray, "k d"]:
        def mean_score(rule: SettingRule) -> Float[np.ndarray, "d"]:
            # The mean over variants; the seeds are weighted by the draws.
            return setting_rules.scores_of_draws(runs, rule, score, draws).mean(axis=0)

        best = mean_score(setting_rules.highest(score))
        regret = best - np.array([mean_score(rule) for rule in rules])
        differences = [regret - regret[names.index(name)] for name in references]
        return np.concatenate([regret, *differences])

    columns = ["regret", *(f"more than {name}" for name in references)]
    point = of(setting_rules.each_once(runs))[:, 0]
    low, high = setting_rules.bootstrap(of, len(runs.seeds))
    table = pd.DataFrame(index=pd.Index(names, name="rule"))
    for end, values in (("", point), ("_low", low), ("_high", high)):
        for column, of_column in zip(columns, np.split(values, len(columns)), strict=True):
            table[column + end] = of_column
    return table


def agreement(runs: Runs, rules: Sequence[SettingRule], score: str) -> pd.DataFrame:
    """Return how far the ranking that each rule gives agrees with that of the best settings.

    Returns:
      One row for each rule, the index. Columns: Kendall's tau of the scores of all variants, with
      tau_low and tau_high. NaN if a rule gives all variants the same score. With more than
      MOST_VARIANTS, the ends of the interval are NaN.
    """

    def of(draws: Weights) -> Float[np.ndarray, "r d"]:
        def scores(rule: SettingRule) -> Float[np.ndarray, "v d"]:
            return setting_rules.scores_of_draws(runs, rule, score, draws).round(DIGITS)

        best = scores(setting_rules.highest(score))
        return np.array([kendall(scores(rule), best) for rule in rules])

    tau = of(setting_rules.each_once(runs))[:, 0]
    low = high = np.full(len(rules), np.nan)
    if len(runs.variants) <= MOST_VARIANTS:
        low, high = setting_rules.bootstrap(of, len(runs.seeds))
    names = pd.Index([rule.name for rule in rules], name="rule")
    return pd.DataFrame({"tau": tau, "tau_low": low, "tau_high": high}, index=names)


def kendall(a: Float[np.ndarray, "v d"], b: Float[np.ndarray, "v d"]) -> Float[np.ndarray, "d"]:
    """Return Kendall's tau-b, which counts ties, of each pair of columns.

    scipy.stats.kendalltau takes one pair at a time, and a bootstrap has thousands.
    """
    order_a = np.sign(a[:, None] - a[None])  # [v, v, d]: which of two variants is higher
    order_b = np.sign(b[:, None] - b[None])
    # Each pair of variants counts twice in all sums, which cancels in the ratio.
    agreeing = (order_a * order_b).sum(axis=(0, 1))
    untied = (order_a**2).sum(axis=(0, 1)) * (order_b**2).sum(axis=(0, 1))
    with np.errstate(invalid="ignore"):  # 0 / 0 if all scores are equal
        return agreeing / np.sqrt(untied)
