"""Lookups and picture of the suite's second protocol: numbers over all learning rates."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build import markdown
from pe_lab.results import formats, frame, run_scores, selection, setting_tables, signs
from pe_lab.results.prose import listed
from pe_lab.results.study import Study
from pe_lab.studies import suite_grid as config

FOLDER = Path("results/published/suite_grid_copying")
REPEATED = Path("results/published/suite_grid_repeated")
FLIP_FLOP = Path("results/published/suite_grid_flip_flop")
FOLDERS = (FOLDER, REPEATED, FLIP_FLOP)
PICTURE = "each_learning_rate.png"
FRONT_PICTURE = FOLDER / "front_page.png"
RATE = "train.learning_rate"
# Of the front page: a rotation, and five biases and distances that extend at some rates.
FRONT = ("rope", "alibi", "t5_bias", "fire", "kerple", "shaw")
_HEADERS = {
    "solved": "solved",
    "runs": "extrapolate",
    "best": "at its best rate",
    "validation": "at validation's rate",
    "area": "area",
}


@dataclass(frozen=True)
class Grid:
    """Rows of the study whose runs are finished at every rate and seed.

    Attributes:
      runs: one row for each run, of setting_tables.full_grid.
      by_name: of setting_tables.by_variant, by the name of the encoding and its positions.
      regrets: of setting_tables.regrets, by rule.
    """

    study: Study
    runs: pd.DataFrame
    by_name: pd.DataFrame
    regrets: pd.DataFrame


@functools.cache
def grid(folder: Path) -> Grid:
    study = frame.read(folder)
    runs = setting_tables.full_grid(study)
    table = setting_tables.by_variant(study.spec, runs)
    regrets = setting_tables.regrets(runs, RATE, setting_tables.multiple_of(study.spec))
    return Grid(study, runs, table.set_index("name"), regrets.set_index("rule"))


def lookups(root: Path, folder: Path = FOLDER) -> dict[str, Any]:
    found = grid(root / folder)
    planned = config.sweep()
    num_published = sum(len(grid(root / part).runs) for part in FOLDERS)
    return {
        "front_table": _table(found, intervals=False),
        "table_with_intervals": _table(found, intervals=True),
        "regret_table": _regret_table(found.regrets),
        "at_rate": functools.partial(_at_rate, found.runs),
        "at_rates": functools.partial(_at_rates, found.runs),
        "column": functools.partial(_column, found.by_name),
        "extrapolate": functools.partial(_extrapolate, found.by_name),
        "solved": functools.partial(_solved, found.runs),
        "regret": functools.partial(_regret, found.regrets),
        "solved_above_lowest": _solved_above_lowest(found.runs),
        "num_front": str(len(FRONT)),
        "num_planned": f"{len(planned):,}",
        "num_published": f"{num_published:,}",
        "num_tasks": str(len(config.TASKS)),
        "longest": str(max(config.MULTIPLES)),
        "num_rows": str(len(found.by_name)),
        "num_other_rows": str(sum(not _is_plain(str(name)) for name in found.by_name.index)),
        "num_seeds": str(found.runs["seed"].nunique()),
        "rates": listed(found.runs[RATE].drop_duplicates()),
    }


def _is_plain(name: str) -> bool:
    """Whether it is an encoding with its default arguments and contiguous positions."""
    return "(" not in name and " · " not in name


def _table(found: Grid, *, intervals: bool) -> str:
    """All rows with intervals, or those of plain encodings without."""
    chosen = selection.choose(found.study)
    rows = [["encoding", *_HEADERS.values()]]
    for name, row in found.by_name.to_dict("index").items():
        if not intervals and not _is_plain(str(name)):
            continue
        counts = f"{row['extrapolates']:.0f} of {row['solved']:.0f}"
        if row["solved"] == 0:
            counts = formats.DASH
        elif intervals:
            counts += f" [{row['reliably_low']:.2f}, {row['reliably_high']:.2f}]"
        cells = [_solved(found.runs, str(name)), counts]
        for column in ("best", "validation", "area"):
            cell = setting_tables.cell(row, column)
            cells.append(cell.text if intervals else formats.number(row[column]))
        of_name = signs.of_name(chosen, str(name))
        rows.append([" ".join([f"`{name}`", *of_name]), *cells])
    return markdown.table(rows)


def _regret_table(regrets: pd.DataFrame) -> str:
    rows = [["rule", "regret"]]
    for rule in regrets.index:
        if " - " not in str(rule):
            rows.append([str(rule), _regret(regrets, str(rule))])
    return markdown.table(rows)


def _regret(regrets: pd.DataFrame, rule: str) -> str:
    """Mean regret of a rule, with its interval."""
    ends = ("regret", "low", "high")
    regret, low, high = (formats.number(regrets.loc[rule, end], exact=False) for end in ends)
    return f"{regret} [{low}, {high}]"


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


def _solved_above_lowest(runs: pd.DataFrame) -> str:
    """Runs above the lowest rate that solve the training lengths, of the front page's encodings."""
    above = runs[(runs[RATE] != runs[RATE].iloc[0]) & runs["name"].isin(FRONT)]
    return f"{int(above['solved'].sum())} of {len(above)}"


def draw(root: Path) -> None:
    """Draw exact match at twice the length against the rate: six encodings, and all of them."""
    grid.cache_clear()
    _draw(grid(root / FOLDER), root / FRONT_PICTURE, FRONT)
    for folder in FOLDERS:
        found = grid(root / folder)
        _draw(found, root / folder / PICTURE, [str(name) for name in found.by_name.index])


def _draw(found: Grid, file: Path, names: Sequence[str]) -> None:
    """One panel for each encoding; a ring marks the rate with the lowest mean loss."""
    from pe_lab.results.plots import drawing
    from pe_lab.results.plots.setting_dots import setting_dots

    losses = found.runs.groupby(["name", RATE], sort=False)[run_scores.LOSS].mean()
    rates = list(found.runs[RATE].unique())
    complete = [name for name in names if name in found.by_name.index]
    with drawing.settings():
        figure, panels = drawing.grid(len(complete), columns=3, height=1.55, sharex=True)
        for axes, name in zip(panels, complete, strict=True):
            runs = found.runs[found.runs["name"] == name]
            chosen = losses[name].idxmin()
            setting_dots(runs, x=RATE, y="2x", order=rates, chosen=chosen, axes=axes)
            axes.set_title(name)
        figure.supxlabel("learning rate", fontsize="medium")
        figure.supylabel("exact match at twice the training length", fontsize="medium")
        drawing.save(figure, [file], few_colors=True)
