"""Lookups and pictures of suite_grid: numbers over all learning rates."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build import markdown
from docs.build.suite_rows import FOLDERS
from pe_lab.contrib.grids import run_scores
from pe_lab.contrib.grids.tables import setting_tables
from pe_lab.contrib.prose.numbers import listed
from pe_lab.results import comparable, formats, frame, selection
from pe_lab.results.statistics import Interval
from pe_lab.results.study import Study
from pe_lab.studies import suite_grid as config
from results.published.suite_grid_copying import tiers

# Multiple of the training length in the pictures, if it is not 2: at twice the length every
# encoding is near 0 on addition.
SHOWN = {"addition": 1.25}
PICTURE = "each_learning_rate.png"
FRONT_PICTURE = FOLDERS["copying"] / "front_page.png"
RATE = "train.learning_rate"
# Of the front page: five encodings of its table that extend at some rates, and a rotation.
FRONT = ("path", "shaw", "fire", "kerple", "alibi", "rope")
_COLUMNS = ("best", "validation", "area")
_HEADERS = {
    "solved": "solved",
    "runs": "extrapolate",
    "best": "at its best rate",
    "validation": "at the rate of the lowest mean loss",
    "area": "area",
}


@dataclass(frozen=True)
class Grid:
    """Rows of the study whose runs are finished at every rate and seed.

    Attributes:
      runs: one row for each run, of setting_tables.full_grid.
      by_name: of setting_tables.by_variant, by the name of the encoding and its positions.
      rules: of setting_tables.compare_rules, by rule.
      shares: of setting_tables.variance_shares, over all runs.
      solved_shares: the same over the rates at which most runs solve the training lengths; empty
        if there are fewer than two such rates.
      extending_shares: these over the rows of which some run extrapolates.
    """

    study: Study
    runs: pd.DataFrame
    by_name: pd.DataFrame
    rules: pd.DataFrame
    shares: dict[str, tuple[float, Interval]]
    solved_shares: dict[str, tuple[float, Interval]]
    extending_shares: dict[str, tuple[float, Interval]]


@functools.cache
def grid(folder: Path) -> Grid:
    study = frame.read(folder)
    runs = setting_tables.full_grid(study)
    table = setting_tables.by_variant(study.spec, runs)
    multiple = setting_tables.multiple_of(study.spec)
    rules = setting_tables.compare_rules(runs, RATE, multiple)
    shares = setting_tables.variance_shares(runs, RATE, multiple)
    solved = setting_tables.mostly_solved(runs, RATE)
    by_name = table.set_index("name")
    solved_shares, extending_shares = {}, {}
    if solved[RATE].nunique() > 1:
        solved_shares = setting_tables.variance_shares(solved, RATE, multiple)
        extending = solved[solved["name"].isin(_extending_rows(by_name))]
        extending_shares = setting_tables.variance_shares(extending, RATE, multiple)
    return Grid(study, runs, by_name, rules, shares, solved_shares, extending_shares)


def _extending_rows(by_name: pd.DataFrame) -> pd.Index:
    """Return the names of the rows of which some run extrapolates."""
    return by_name.index[by_name["extrapolates"] > 0]


def lookups(root: Path) -> dict[str, Any]:
    return of_page(root, form="copying") | tiers.lookups(root)


def of_page(root: Path, *, form: str) -> dict[str, Any]:
    """Return the lookups of the page of a form: its own, those of each form, and shared ones."""
    return {
        **{form: of_form(root, form) for form in FOLDERS},
        "lowest_regret": functools.partial(_extreme_regret, root, min),
        "highest_regret": functools.partial(_extreme_regret, root, max),
        "num_planned": f"{len(config.sweep()):,}",
        "num_extending_tasks": str(len(_extending(root))),
        "num_tasks": str(len(config.TASKS)),
        "longest": str(max(config.MULTIPLES)),
        **of_form(root, form),
    }


@functools.cache
def of_form(root: Path, form: str) -> dict[str, Any]:
    """Return the lookups of one form."""
    found = grid(root / FOLDERS[form])
    return {
        "form": form,
        "shown": _times(SHOWN.get(form, 2)),
        "table_with_intervals": _table(found),
        "at_rate": functools.partial(_at_rate, found.runs),
        "at_rates": functools.partial(_at_rates, found.runs),
        "highest": functools.partial(_highest, found.runs),
        "column": functools.partial(_column, found.by_name),
        "extrapolate": functools.partial(_extrapolate, found.by_name),
        "solved": functools.partial(solved_runs, found.runs),
        "regret": functools.partial(_of_rule, found.rules, column="regret"),
        "tau": functools.partial(_of_rule, found.rules, column="tau"),
        "share": functools.partial(_share, found.shares),
        "solved_share": functools.partial(_share, found.solved_shares),
        "extending_share": functools.partial(_share, found.extending_shares),
        "num_extending_rows": str(len(_extending_rows(found.by_name))),
        "row_names": list(found.by_name.index),
        "num_rows": str(len(found.by_name)),
        "num_seeds": str(found.runs["seed"].nunique()),
        "rates": listed(found.runs[RATE].drop_duplicates()),
    }


def chosen_rate(runs: pd.DataFrame, name: str) -> str:
    """The rate with the lowest mean validation loss."""
    return str(run_scores.chosen(runs[runs["name"] == name], RATE))


def _extending(root: Path) -> list[Grid]:
    """The tasks on which some runs extrapolate."""
    grids = [grid(root / folder) for folder in FOLDERS.values()]
    return [found for found in grids if found.by_name["extrapolates"].sum()]


def _extreme_regret(root: Path, of: Callable[..., float], rule: str) -> str:
    """The lowest or highest regret of a rule on a task on which some runs extrapolate."""
    return formats.number(of(found.rules.loc[rule, "regret"] for found in _extending(root)))


def _table(found: Grid) -> str:
    """All rows with intervals."""
    chosen = selection.choose(found.study)
    rows = [["encoding", *_HEADERS.values()]]
    for name, row in found.by_name.to_dict("index").items():
        counts = formats.DASH
        if row["solved"]:
            interval = f"[{row['reliably_low']:.2f}, {row['reliably_high']:.2f}]"
            counts = f"{row['extrapolates']:.0f} of {row['solved']:.0f} {interval}"
        numbers = [setting_tables.cell(row, column).text for column in _COLUMNS]
        label = " ".join([f"`{name}`", *comparable.signs_of_name(chosen, str(name))])
        rows.append([label, solved_runs(found.runs, str(name)), counts, *numbers])
    return markdown.table(rows)


def _of_rule(rules: pd.DataFrame, rule: str, *, column: str) -> str:
    """A number of a rule with its interval: regret or tau."""
    return setting_tables.rule_cell(rules, rule, column).text


def _share(shares: dict[str, tuple[float, Interval]], factor: str) -> str:
    """The share of a factor in the variance, with its interval."""
    share, interval = shares[factor]
    return formats.number(share) + formats.bracket(interval)


def _of(runs: pd.DataFrame, name: str, rate: str) -> pd.DataFrame:
    found = runs[(runs["name"] == name) & (runs[RATE] == rate)]
    assert len(found), f"suite_grid has no {name} at {rate}"
    return found


def _at_rate(runs: pd.DataFrame, name: str, rate: str, multiple: int | float = 2) -> str:
    """Median exact match of an encoding at a multiple of the length, at a learning rate."""
    return formats.number(_of(runs, name, rate)[run_scores.at(multiple)].median())


def _at_rates(runs: pd.DataFrame, name: str, multiple: int | float = 2) -> str:
    """Median exact match of an encoding at a multiple of the length, for each learning rate."""
    rates = runs[RATE].drop_duplicates()
    return listed(f"{_at_rate(runs, name, rate, multiple)} at {rate}" for rate in rates)


def _highest(runs: pd.DataFrame, multiple: int | float, *names: str) -> str:
    """The highest exact match of any run of some encodings at a multiple of the length."""
    return formats.number(runs.loc[runs["name"].isin(names), run_scores.at(multiple)].max())


def _times(multiple: int | float) -> str:
    """The words for a multiple of the training length."""
    return (
        "twice the training length" if multiple == 2 else f"{multiple:g} times the training length"
    )


def _column(by_name: pd.DataFrame, name: str, column: str) -> str:
    """A number of the table with its interval: best, validation or area."""
    return setting_tables.cell(by_name.loc[name].to_dict(), column).text


def _extrapolate(by_name: pd.DataFrame, *names: str) -> str:
    """Runs of some encodings that extrapolate, of those that solve the training lengths."""
    rows = by_name.loc[list(names)]
    return f"{rows['extrapolates'].sum()} of {rows['solved'].sum()}"


def solved_runs(runs: pd.DataFrame, name: str = "", rate: str = "") -> str:
    """Runs that solve the training lengths, of all runs of an encoding and a rate, or of any."""
    is_named = (runs["name"] == name) | (name == "")
    solved = runs.loc[is_named & ((runs[RATE] == rate) | (rate == "")), "solved"]
    return f"{int(solved.sum())} of {len(solved)}"


def draw(root: Path) -> None:
    """Draw exact match beyond the length against the rate: six encodings, and all of them."""
    _draw(grid(root / FOLDERS["copying"]), root / FRONT_PICTURE, FRONT)
    draw_form(root, form="copying")


def draw_form(root: Path, *, form: str) -> None:
    """Draw all encodings of a form."""
    found = grid(root / FOLDERS[form])
    names = [str(name) for name in found.by_name.index]
    _draw(found, root / FOLDERS[form] / PICTURE, names, SHOWN.get(form, 2))


def _draw(found: Grid, file: Path, names: Sequence[str], multiple: int | float = 2) -> None:
    """One panel for each encoding; a ring marks the rate with the lowest mean loss."""
    from pe_lab.contrib.grids.setting_dots import setting_dots
    from pe_lab.results.plots import drawing, plotted

    study = selection.choose(found.study)
    rates = list(found.runs[RATE].unique())
    complete = [name for name in names if name in found.by_name.index]
    with drawing.settings():
        figure, panels = drawing.grid(len(complete), columns=3, height=1.55, sharex=True)
        for axes, name in zip(panels, complete, strict=True):
            runs = found.runs[found.runs["name"] == name]
            chosen = chosen_rate(found.runs, name)
            score = run_scores.at(multiple)
            setting_dots(runs, x=RATE, y=score, order=rates, chosen=chosen, axes=axes)
            axes.set_title(plotted.in_words(study, name))
        figure.supxlabel("learning rate", fontsize="medium")
        figure.supylabel(f"exact match at {_times(multiple)}", fontsize="medium")
        drawing.save(figure, [file], few_colors=True)
