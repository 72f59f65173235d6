"""Tables of a study that trains every seed at every value of a tuned axis, such as a learning rate.

A ranking at one value, whichever rule chose it, may be a ranking of values (setting_rules.py).
These tables show what a variant does at most values, at its best one, and at the one that
validation chooses; what each rule of choice loses, and whether it ranks variants as the best value
does; and how much of the variance is due to the variant, the value and the seed.
"""

import math

import numpy as np
import pandas as pd

from pe_lab.contrib.grids import rule_comparison, run_scores, setting_rules, variance
from pe_lab.contrib.grids.run_scores import AREA, IN_DISTRIBUTION, LOSS
from pe_lab.contrib.grids.setting_rules import Runs, SettingRule
from pe_lab.results import notes, statistics
from pe_lab.results.formats import DASH, Cell, Table, bracket, difference, number
from pe_lab.results.statistics import Interval
from pe_lab.results.study import Study
from pe_lab.results.summary import groups
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies.analysis_spec import AnalysisSpec

FEWEST_SEEDS = 4  # two halves of two seeds
FEWEST_SETTINGS = 3
_COLUMNS = ("reliably", "best", "validation", "area")
_RELIABLY_NOTE = (
    "*reliably*: Wilson intervals of an effective number of runs, because runs of one seed may end "
    "alike."
)


def full_grid(study: Study, fewest_seeds: int = FEWEST_SEEDS) -> pd.DataFrame:
    """Return the scores of the runs of all variants that have every seed at every setting.

    Args:
      study: before `selection.choose`.
      fewest_seeds: of a study with scores; two or more.

    Returns:
      One row for each run (run_scores.of), with a column "name" of the labels without the tuned
      axis and axes that have one label. Empty if the study has another number of tuned axes than
      one, a text, or too few settings or seeds.
    """
    if len(study.spec.tuned) != 1 or study.has_text:
        return pd.DataFrame()
    (setting,) = study.spec.tuned
    runs = run_scores.of(study.numbers)
    # An axis whose labels are all empty has no column.
    others = [axis for axis in study.axes if axis != setting and axis in runs]
    labels = runs[others].astype(str)
    labels = labels.loc[:, labels.nunique() > 1]
    runs = runs.assign(name=[" · ".join(filter(None, row)) for row in labels.to_numpy()])
    settings, seeds = runs[setting].nunique(), runs["seed"].nunique()
    sizes = runs.groupby("name")["run_id"].transform("size")
    complete = runs[sizes == settings * seeds]
    if settings < FEWEST_SETTINGS or seeds < fewest_seeds:
        return complete.iloc[:0]
    return complete


def tables(study: Study) -> list[Table]:
    """Return all three tables; none if no variant has every seed at every setting.

    Args:
      study: before `selection.choose`.
    """
    runs = full_grid(study)
    multiple = study.spec.extrapolation.point.at
    if runs.empty or multiple is None or not {run_scores.at(multiple), AREA} <= {*runs}:
        return []
    (setting,) = study.spec.tuned
    found = [by_setting(study.spec, runs), _rules(runs, setting, multiple)]
    if runs["name"].nunique() > 1:  # one variant has no variance between variants
        found.append(_shares(runs, setting, multiple))
    return found


def by_variant(spec: AnalysisSpec, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that compare variants (run_scores.compare).

    Args:
      runs: of `full_grid`.
    """
    (setting,) = spec.tuned
    return run_scores.compare(
        runs,
        rows=["name"],
        setting=setting,
        multiple=multiple_of(spec),
        threshold=spec.extrapolation.threshold,
    )


def multiple_of(spec: AnalysisSpec) -> int | float:
    """Return the multiple of the training length at which runs are scored."""
    multiple = spec.extrapolation.point.at
    assert multiple is not None  # `tables` has checked it, and suite_grid has the default
    return multiple


def by_setting(spec: AnalysisSpec, runs: pd.DataFrame) -> Table:
    """Return the table of the columns of `by_variant`.

    Args:
      runs: of `full_grid`.
    """
    (setting,) = spec.tuned
    label, multiple = _words(setting), multiple_of(spec)
    rows = []
    for row in by_variant(spec, runs).to_dict("records"):
        rows.append((Cell(row["name"]), counts(row), *(cell(row, name) for name in _COLUMNS)))
    shortest, *_, longest = (m for m in run_scores.MULTIPLES if run_scores.at(m) in runs)
    threshold = spec.extrapolation.threshold
    caption = (
        f"Every seed is trained at every {label}. *runs*: of the runs that solve the training "
        f"lengths at any {label}, those that extrapolate, with an exact match of at least "
        f"{threshold:g} at {multiple:g}×; *reliably* is their share. *best*: exact match at "
        f"{multiple:g}× at the best {label}, which half of the seeds chooses and the other half "
        f"scores. *validation*: its mean at the {label} with the lowest mean validation loss. "
        "*area*: mean exact match over the logarithm of the "
        f"length from {shortest:g}× to {longest:g}×, at the best {label} for it."
    )
    header = ("variant", "runs", *_COLUMNS)
    remarks = (_RELIABLY_NOTE, intervals_note("Other intervals", runs))
    return Table(f"At most, best and chosen {label}", caption, header, tuple(rows), remarks)


def intervals_note(intervals: str, runs: pd.DataFrame) -> str:
    """Return the note about bootstrap intervals of `by_variant`, with their coverage."""
    num_seeds = runs["seed"].nunique()
    if num_seeds < statistics.EXACT_FROM:
        return f"{intervals}: none with {notes.listed([num_seeds])}."
    method = "are percentile bootstraps, which draw seeds anew for all settings at once"
    return f"{intervals} {method}{notes.covers('percentile', num_seeds)}."


def counts(row: JsonObject) -> Cell:
    """Return the runs of a row of `by_variant` that extrapolate, of those that are solved."""
    return Cell(f"{row['extrapolates']}/{row['solved']}")


def cell(row: JsonObject, column: str) -> Cell:
    """Return a number of `by_variant` with its interval.

    Args:
      row: of the table, by column.
    """
    value, low, high = (row[column + end] for end in ("", "_low", "_high"))
    if pd.isna(value):
        return Cell(DASH)
    # Kendall's tau is not defined in draws in which all variants have the same score.
    interval = None if pd.isna(low) else Interval(low, high, "percentile")
    return Cell(f"{number(value)}{bracket(interval)}", value, interval)


def rules(runs: pd.DataFrame, setting: str) -> list[SettingRule]:
    """Return the rules that the test lengths between 1 and the scored one allow.

    The last ones are no choices: every variant has the same setting.
    """
    chosen_by_score = [
        run_scores.CHOICE,
        setting_rules.solved_then(run_scores.CHOICE),
        setting_rules.lowest(LOSS, logarithm=True, name="lowest mean log loss"),
        setting_rules.highest(IN_DISTRIBUTION, name="highest exact match in validation"),
    ]
    for multiple in (1.125, 1.25, 1.5):
        if run_scores.at(multiple) in runs:
            name = f"highest exact match at {multiple:g}×"
            chosen_by_score.append(setting_rules.highest(run_scores.at(multiple), name=name))
    values = [key[0] for key in groups(runs, [setting])]
    same = [setting_rules.always(value) for value in values]
    return [*chosen_by_score, setting_rules.middle_solved(), setting_rules.random_solved(), *same]


def compare_rules(runs: pd.DataFrame, setting: str, multiple: int | float) -> pd.DataFrame:
    """Return what each rule loses over all variants, and whether its ranking is that of the best.

    Returns:
      The columns of rule_comparison.regrets, with the first rule and a random solved setting as
      references, and those of rule_comparison.agreement.
    """
    chosen_by = rules(runs, setting)
    score = run_scores.at(multiple)
    columns = {score} | {number for rule in chosen_by for number in rule.reads}
    grid = Runs.of(runs, rows=["name"], setting=setting, columns=sorted(columns))
    references = [chosen_by[0].name, setting_rules.random_solved().name]
    regrets = rule_comparison.regrets(grid, chosen_by, score, references)
    return regrets.join(rule_comparison.agreement(grid, chosen_by, score))


def rule_cell(table: pd.DataFrame, rule: str, column: str) -> Cell:
    """Return a number of a rule with its interval.

    Args:
      table: of `compare_rules`.
    """
    if column == "tau":
        return cell(table.loc[rule].to_dict(), column)
    if column == f"more than {rule}":
        return Cell(DASH)
    value, low, high = (table.loc[rule, column + end] for end in ("", "_low", "_high"))
    interval = Interval(low, high, "percentile")
    if column == "regret":
        return Cell(number(value, exact=False) + bracket(interval, exact=False), value, interval)
    return Cell(difference(value, interval), value, interval)


def _rules(runs: pd.DataFrame, setting: str, multiple: float) -> Table:
    table = compare_rules(runs, setting, multiple)
    label = _words(setting)
    columns = [name for name in table if not name.endswith(("_low", "_high"))]
    rows = []
    for name in table.index:
        rows.append((Cell(name), *(rule_cell(table, name, column) for column in columns)))
    caption = (
        f"*regret*: exact match at {multiple:g}× of the best {label} minus that of the chosen "
        f"one, mean over {runs['name'].nunique()} variants; both are chosen on half of the seeds "
        "and scored on the other half. *always*: the same for all variants. *τ*: Kendall's rank "
        f"correlation of the variants' exact match with that at the best {label}, where numbers "
        "with the same two digits are ties."
    )
    header = ("rule", *("τ" if column == "tau" else column for column in columns))
    return Table(f"What rules of choice lose: {label}", caption, header, tuple(rows))


def variance_shares(
    runs: pd.DataFrame, setting: str, multiple: float
) -> dict[str, tuple[float, Interval | None]]:
    """Return the share of each factor and interaction in the variance, with its interval.

    Args:
      runs: of `full_grid`, of two variants and two settings or more. All count, whether they solve
        the training lengths or not; the score of a diverged run is 0.
    """
    score = run_scores.at(multiple)
    grid = Runs.of(runs, rows=["name"], setting=setting, columns=[score])
    values = np.nan_to_num(grid.numbers[score], nan=0.0)
    factors = ("variant", _words(setting), "seed")
    shares = variance.shares(values, factors)
    intervals = variance.share_intervals(values, factors, "seed")
    return {name: (share, intervals[name]) for name, share in shares.items()}


def mostly_solved(runs: pd.DataFrame, setting: str) -> pd.DataFrame:
    """Return the runs at settings at which at least half of all runs solve the training lengths."""
    share_solved = runs["solved"].astype(float).groupby(runs[setting], sort=False).transform("mean")
    return runs[share_solved >= 0.5]


def _shares(runs: pd.DataFrame, setting: str, multiple: float) -> Table:
    label, solved = _words(setting), mostly_solved(runs, setting)
    columns = [variance_shares(runs, setting, multiple)]
    if solved[setting].nunique() > 1:
        columns.append(variance_shares(solved, setting, multiple))
    rows = []
    for name in columns[0]:
        cells = []
        for share, interval in (column[name] for column in columns):
            text = DASH if math.isnan(share) else number(share) + bracket(interval)
            cells.append(Cell(text, share, interval))
        cells += [Cell(DASH)] * (2 - len(cells))
        rows.append((Cell(name.replace(variance.JOIN, " × ")), *cells))
    caption = (
        f"Shares of exact match at {multiple:g}× in the sum of variance components, by an analysis "
        "of variance. A product is an interaction; that of all factors includes rounding. *all*: "
        f"over all runs, also at each {label} at which few solve the training lengths. *mostly "
        f"solved*: over each {label} at which at least half of the runs solve them."
    )
    notes = ("Intervals leave out one seed at a time (jackknife).",)
    header = ("factor", "all", "mostly solved")
    return Table("What runs vary with", caption, header, tuple(rows), notes)


def _words(setting: str) -> str:
    """Return the words of an axis, such as "learning rate"."""
    return setting.rpartition(".")[2].replace("_", " ")
