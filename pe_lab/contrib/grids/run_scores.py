"""One row for each run: the numbers that compare encodings, and the numbers that choose a setting.

    runs = run_scores.of(frame.read("results/published/noise_pilot").numbers)
    columns = run_scores.compare(runs, rows=["model.encodings"], setting="train.learning_rate")

`compare` scores an encoding over all settings (reliably), at the best setting for one length (best)
or for all lengths (area), and at the setting that the training lengths choose (validation).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pe_lab.contrib.grids import clustered, setting_rules
from pe_lab.contrib.grids.setting_rules import Runs
from pe_lab.results import statistics

LOSS, IN_DISTRIBUTION, AREA = "validation loss", "validation exact match", "area"
# The rule of "the setting that validation chose" in all tables, as in selection.choose.
CHOICE = setting_rules.lowest(LOSS, name="lowest mean loss")
KEYS = ["variant", "run_id"]
MULTIPLES = (1, 1.125, 1.25, 1.5, 2, 3, 4)  # of the training length


def at(multiple: int | float) -> str:
    """Return the column of exact match at a multiple of the training length."""
    return f"{multiple:g}x"


def of(numbers: pd.DataFrame, multiples: Sequence[int | float] = MULTIPLES) -> pd.DataFrame:
    """Return one row for each run of a variant, evaluated as it was trained.

    Variants may share a run, as NoPE does under two position schemes.

    Args:
      numbers: the frame `Study.numbers`.
      multiples: of the training length; those that are not measured have no column.

    Columns: as in `Study.numbers` up to max_length, and
      1x, 1.125x, …: exact match in the test at these multiples of the training length.
      area: the mean exact match from 1x to the largest multiple over the logarithm of the length.
      validation loss, validation exact match: means over the validation lengths.
    """
    plain = numbers[(numbers["override"] == "") & (numbers["offset"] == 0)]
    last = plain.columns.get_loc("max_length")
    runs = plain[plain.columns[: last + 1]].drop_duplicates(KEYS)
    # Words of a large study are categories, which cannot be compared with new words.
    words = runs.select_dtypes("category").columns
    runs = runs.astype(dict.fromkeys(words, object)).set_index(KEYS)
    tests = plain[(plain["split"] == "test") & (plain["metric"] == "exact_match")]
    tests = tests.assign(multiple=tests["length"] / tests["max_length"])
    table = tests.pivot(index=KEYS, columns="multiple", values="value")
    measured = [multiple for multiple in multiples if multiple in table.columns]
    for multiple in measured:
        runs[at(multiple)] = table[multiple]
    if len(measured) > 1:
        runs[AREA] = _area(table[measured])
    validation = plain[plain["split"] == "validation"]
    for column, metric in ((LOSS, "negative_log_likelihood"), (IN_DISTRIBUTION, "exact_match")):
        rows = validation[validation["metric"] == metric]
        runs[column] = rows.groupby(KEYS, observed=True)["value"].mean()
    return runs.reset_index()


def _area(table: pd.DataFrame) -> pd.Series:
    """Return the area under each row over log2 of its columns, relative to its width."""
    positions = np.log2(table.columns.to_numpy(float))
    widths = np.diff(positions)
    heights = (table.to_numpy()[:, 1:] + table.to_numpy()[:, :-1]) / 2
    return pd.Series(heights @ widths / widths.sum(), index=table.index)


def compare(
    runs: pd.DataFrame,
    *,
    rows: Sequence[str],
    setting: str,
    multiple: int | float = 2,
    threshold: float = 0.9,
) -> pd.DataFrame:
    """Return the columns that compare variants, with their intervals.

    Args:
      runs: result of `of`; every variant has every seed at every setting.
      rows: the columns that tell variants apart.
      setting: the column of the values that a rule chooses from.
      multiple: of the training length, at which a run is scored.
      threshold: exact match there from which a solved run extrapolates.

    Returns:
      One row for each variant, with the columns `rows`, and
      extrapolates, solved: numbers of runs; reliably: their ratio; NaN if no run is solved.
      best: the score at the best setting, which the score chose on the other half of the seeds.
      validation: the mean score at the setting of the lowest mean validation loss (CHOICE), over
        all seeds, which also choose it.
      area: the area at the setting that is best for it; missing if `runs` has no area.
      …_low, …_high: 95 % intervals; except for reliably NaN with fewer than five seeds, whose
        bootstrap intervals rarely contain the true value.
    """
    score = at(multiple)
    # The rule that chooses a setting, the number that it is scored by, and if by halves of seeds.
    rules = {
        "best": (setting_rules.highest(score), score, True),
        "validation": (CHOICE, score, False),
    }
    columns = ["solved", LOSS, score]
    if AREA in runs:
        rules["area"] = (setting_rules.highest(AREA), AREA, True)
        columns.append(AREA)
    grid = Runs.of(runs, rows=rows, setting=setting, columns=columns)
    table = grid.variants.to_frame(index=False)
    reliable = [_reliable(grid, index, score, threshold) for index in range(len(table))]
    table = table.join(pd.DataFrame(reliable))
    for name, (rule, number, halves) in rules.items():
        table[name] = setting_rules.scores(grid, rule, number, halves=halves)
        low = high = np.full(len(table), np.nan)
        if len(grid.seeds) >= statistics.EXACT_FROM:
            low, high = setting_rules.interval(grid, rule, number, halves=halves)
        table[f"{name}_low"], table[f"{name}_high"] = low, high
    return table


def chosen(runs: pd.DataFrame, setting: str) -> object:
    """Return the setting of one variant that CHOICE chooses; of equal ones the first.

    Args:
      runs: of the variant, result of `of`.
    """
    grid = Runs.of(runs.assign(name=""), rows=["name"], setting=setting, columns=[LOSS])
    shares = CHOICE.choose(grid, setting_rules.each_once(grid))
    return grid.settings[int(shares[0, :, 0].argmax())]


def _reliable(grid: Runs, variant: int, score: str, threshold: float) -> dict[str, int | float]:
    """Return the share of the solved runs of a variant that extrapolate."""
    solved = grid.numbers["solved"][variant] == 1
    extrapolates = solved & (grid.numbers[score][variant] >= threshold)
    num_extrapolates, num_solved = int(extrapolates.sum()), int(solved.sum())
    interval = clustered.interval(extrapolates.sum(axis=0), solved.sum(axis=0))
    return {
        "extrapolates": num_extrapolates,
        "solved": num_solved,
        "reliably": num_extrapolates / num_solved if interval else np.nan,
        "reliably_low": interval.low if interval else np.nan,
        "reliably_high": interval.high if interval else np.nan,
    }
