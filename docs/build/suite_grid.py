"""Lookups and pictures of suite_grid: numbers over all learning rates."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build import markdown
from pe_lab.results import formats, frame, run_scores, selection, setting_tables, signs
from pe_lab.results.prose import listed
from pe_lab.results.statistics import Interval
from pe_lab.results.study import Study
from pe_lab.studies import suite_grid as config

# Published forms, one for each task, with their headers in the table of tasks.
HEADERS = {
    "copying": "distinct symbols",
    "repeated": "symbols may repeat",
    "recall": "recall",
    "sort": "sort",
    "flip_flop": "last written bit",
}
FOLDERS = {form: Path(f"results/published/suite_grid_{form}") for form in HEADERS}
PICTURE = "each_learning_rate.png"
FRONT_PICTURE = FOLDERS["copying"] / "front_page.png"
RATE = "train.learning_rate"
# Of the front page: a rotation, and five biases and distances that extend at some rates.
FRONT = ("rope", "alibi", "t5_bias", "fire", "kerple", "shaw")
_COLUMNS = ("best", "validation", "area")
_HEADERS = {
    "solved": "solved",
    "runs": "extrapolate",
    "best": "at its best rate",
    "validation": "mean of solved rates",
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
      solved_shares: the same over the rates at which most runs solve the training lengths.
    """

    study: Study
    runs: pd.DataFrame
    by_name: pd.DataFrame
    rules: pd.DataFrame
    shares: dict[str, tuple[float, Interval]]
    solved_shares: dict[str, tuple[float, Interval]]


@functools.cache
def grid(folder: Path) -> Grid:
    study = frame.read(folder)
    runs = setting_tables.full_grid(study)
    table = setting_tables.by_variant(study.spec, runs)
    multiple = setting_tables.multiple_of(study.spec)
    rules = setting_tables.compare_rules(runs, RATE, multiple)
    shares = setting_tables.variance_shares(runs, RATE, multiple)
    solved = setting_tables.mostly_solved(runs, RATE)
    solved_shares = setting_tables.variance_shares(solved, RATE, multiple)
    return Grid(study, runs, table.set_index("name"), rules, shares, solved_shares)


def lookups(root: Path) -> dict[str, Any]:
    """Return the lookups of each form, and those that all forms share."""
    planned = config.sweep()
    num_published = sum(len(grid(root / folder).runs) for folder in FOLDERS.values())
    of_forms = {form: of_form(root, form) for form in FOLDERS}
    return {
        **of_forms,
        "task_table": _task_table(root),
        "on_all_tasks": functools.partial(_on_all_tasks, root),
        "lowest_regret": functools.partial(_extreme_regret, root, min),
        "highest_regret": functools.partial(_extreme_regret, root, max),
        "num_planned": f"{len(planned):,}",
        "num_published": f"{num_published:,}",
        "num_published_tasks": str(len(FOLDERS)),
        "num_tasks": str(len(config.TASKS)),
        "longest": str(max(config.MULTIPLES)),
    }


def page_lookups(root: Path, *, form: str) -> dict[str, Any]:
    """Return the lookups of the page of a form."""
    return {**lookups(root), **of_form(root, form)}


@functools.cache
def of_form(root: Path, form: str) -> dict[str, Any]:
    """Return the lookups of one form."""
    found = grid(root / FOLDERS[form])
    return {
        "form": form,
        "table_with_intervals": _table(found),
        "at_rate": functools.partial(_at_rate, found.runs),
        "at_rates": functools.partial(_at_rates, found.runs),
        "column": functools.partial(_column, found.by_name),
        "extrapolate": functools.partial(_extrapolate, found.by_name),
        "solved": functools.partial(_solved, found.runs),
        "regret": functools.partial(_of_rule, found.rules, column="regret"),
        "tau": functools.partial(_of_rule, found.rules, column="tau"),
        "share": functools.partial(_share, found.shares),
        "solved_share": functools.partial(_share, found.solved_shares),
        "num_rows": str(len(found.by_name)),
        "num_other_rows": str(sum(not _is_plain(str(name)) for name in found.by_name.index)),
        "num_seeds": str(found.runs["seed"].nunique()),
        "rates": listed(found.runs[RATE].drop_duplicates()),
    }


def _is_plain(name: str) -> bool:
    """Whether it is an encoding with its default arguments and contiguous positions."""
    return "(" not in name and " · " not in name


def _task_table(root: Path) -> str:
    """Plain encodings by task, at the rate of the lowest mean validation loss."""
    by_task = [grid(root / folder) for folder in FOLDERS.values()]
    rows = [["encoding", *HEADERS.values()]]
    for name in by_task[0].by_name.index:
        if _is_plain(str(name)):
            rows.append([f"`{name}`", *(_task_cell(found, str(name)) for found in by_task)])
    return markdown.table(rows)


def _task_cell(found: Grid, name: str) -> str:
    """Mean exact match at twice the length, and the seeds that extrapolate."""
    of_rate = _of(found.runs, name, _chosen_rate(found.runs, name))
    scores, solved = of_rate[run_scores.at(2)], of_rate["solved"].astype(bool)
    count = int((solved & (scores >= found.study.spec.extrapolation.threshold)).sum())
    star = "" if solved.any() else "\\*"
    return f"{formats.number(scores.mean())}{star} ({count}/{len(of_rate)})"


def _chosen_rate(runs: pd.DataFrame, name: str) -> str:
    """The rate with the lowest mean validation loss."""
    losses = runs[runs["name"] == name].groupby(RATE, sort=False)[run_scores.LOSS].mean()
    return str(losses.idxmin())


def _on_all_tasks(root: Path, *names: str) -> str:
    """Runs of some encodings that extrapolate on all tasks, of those that solve them."""
    tables = [grid(root / folder).by_name.loc[list(names)] for folder in FOLDERS.values()]
    counts = pd.concat(tables)[["extrapolates", "solved"]].sum()
    return f"{counts['extrapolates']:.0f} of {counts['solved']:.0f}"


def _extreme_regret(root: Path, of: Callable[..., float], rule: str) -> str:
    """The lowest or highest regret of a rule on a task, without its interval."""
    regrets = [grid(root / folder).rules.loc[rule, "regret"] for folder in FOLDERS.values()]
    return formats.number(of(regrets))


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
        label = " ".join([f"`{name}`", *signs.of_name(chosen, str(name))])
        rows.append([label, _solved(found.runs, str(name)), counts, *numbers])
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


def _at_rate(runs: pd.DataFrame, name: str, rate: str) -> str:
    """Median exact match of an encoding at twice the length, at a learning rate."""
    return formats.number(_of(runs, name, rate)[run_scores.at(2)].median())


def _at_rates(runs: pd.DataFrame, name: str) -> str:
    """Median exact match of an encoding at twice the length, for each learning rate."""
    return listed(f"{_at_rate(runs, name, r)} at {r}" for r in runs[RATE].drop_duplicates())


def _column(by_name: pd.DataFrame, name: str, column: str) -> str:
    """A number of the table with its interval: best, validation or area."""
    return setting_tables.cell(by_name.loc[name].to_dict(), column).text


def _extrapolate(by_name: pd.DataFrame, *names: str) -> str:
    """Runs of some encodings that extrapolate, of those that solve the training lengths."""
    rows = by_name.loc[list(names)]
    return f"{rows['extrapolates'].sum()} of {rows['solved'].sum()}"


def _solved(runs: pd.DataFrame, name: str, rate: str | None = None) -> str:
    """Runs of an encoding that solve the training lengths, of its runs at all rates, or at one."""
    solved = runs.loc[runs["name"] == name, "solved"]
    if rate is not None:
        solved = _of(runs, name, rate)["solved"]
    return f"{int(solved.sum())} of {len(solved)}"


def draw(root: Path) -> None:
    """Draw exact match at twice the length against the rate: six encodings, and all of them."""
    grid.cache_clear()
    _draw(grid(root / FOLDERS["copying"]), root / FRONT_PICTURE, FRONT)
    for folder in FOLDERS.values():
        found = grid(root / folder)
        _draw(found, root / folder / PICTURE, [str(name) for name in found.by_name.index])


def _draw(found: Grid, file: Path, names: Sequence[str]) -> None:
    """One panel for each encoding; a ring marks the rate with the lowest mean loss."""
    from pe_lab.results.plots import drawing
    from pe_lab.results.plots.setting_dots import setting_dots

    rates = list(found.runs[RATE].unique())
    complete = [name for name in names if name in found.by_name.index]
    with drawing.settings():
        figure, panels = drawing.grid(len(complete), columns=3, height=1.55, sharex=True)
        for axes, name in zip(panels, complete, strict=True):
            runs = found.runs[found.runs["name"] == name]
            chosen = _chosen_rate(found.runs, name)
            setting_dots(runs, x=RATE, y="2x", order=rates, chosen=chosen, axes=axes)
            axes.set_title(name)
        figure.supxlabel("learning rate", fontsize="medium")
        figure.supylabel("exact match at twice the training length", fontsize="medium")
        drawing.save(figure, [file], few_colors=True)
