"""Lookups of suite_grid's task addition: solved runs beyond the training length, and repeated runs.

At twice the training length every encoding is near 0, and many seeds do not learn the task. So its
page shows solved seeds at shorter lengths.
"""

import functools
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build import markdown
from docs.build.suite_rows import FOLDERS
from pe_lab.contrib.grids import run_scores
from pe_lab.results import formats, frame
from results.published.suite_grid_copying import page as suite_grid
from results.published.suite_grid_copying.page import RATE, Grid

FOLDER = FOLDERS["addition"]
PILOT = Path("results/published/suite_grid_pilot")
MULTIPLES = (1.125, 1.25, 1.5, 2)  # 9, 10, 12 and 16 digits


def lookups(root: Path) -> dict[str, Any]:
    found = suite_grid.grid(root / FOLDER)
    pairs = _repeated(root, found)
    return {
        **suite_grid.of_page(root, form="addition"),
        "solved_medians": _solved_medians(found),
        "solved_median": functools.partial(_solved_median, found.runs),
        "reach": functools.partial(_reach, found),
        "in_validation": functools.partial(_in_validation, found),
        "num_repeated": str(len(pairs)),
        "largest_gap": formats.number((pairs["there"] - pairs["here"]).abs().max()),
    }


def _solved_medians(found: Grid) -> str:
    """Exact match of the solved seeds of each encoding at the rate of the lowest mean loss."""
    trained = int(found.runs["max_length"].iloc[0])
    lengths = [f"{trained * multiple:g} digits" for multiple in MULTIPLES]
    rows = [["encoding", "rate", "seeds that solve", *lengths]]
    for name in map(str, found.by_name.index):
        rate = suite_grid.chosen_rate(found.runs, name)
        num_solved = suite_grid.solved_runs(found.runs, name, rate)
        numbers = [with_range(found.runs, name, rate, multiple) for multiple in MULTIPLES]
        rows.append([f"`{name}`", rate, num_solved, *numbers])
    return markdown.table(rows)


def with_range(runs: pd.DataFrame, name: str, rate: str, multiple: int | float) -> str:
    """The median of the solved seeds, with the lowest and the highest of them."""
    scores = _solved_scores(runs, name, rate, multiple)
    if scores.empty:
        return formats.DASH
    low, high = formats.number(scores.min()), formats.number(scores.max())
    return f"{formats.number(scores.median())} ({low} to {high})"


def _solved_median(runs: pd.DataFrame, name: str, rate: str, multiple: int | float) -> str:
    return formats.number(_solved_scores(runs, name, rate, multiple).median())


def _solved_scores(runs: pd.DataFrame, name: str, rate: str, multiple: int | float) -> pd.Series:
    is_counted = (runs["name"] == name) & (runs[RATE] == rate) & runs["solved"].astype(bool)
    return runs.loc[is_counted, run_scores.at(multiple)]


def _reach(found: Grid, multiple: int | float, *names: str) -> str:
    """Solved runs that reach the threshold at a multiple, of the solved runs of some encodings."""
    solved = found.runs[found.runs["solved"].astype(bool)]
    if names:
        solved = solved[solved["name"].isin(names)]
    threshold = found.study.spec.extrapolation.threshold
    return f"{(solved[run_scores.at(multiple)] >= threshold).sum()} of {len(solved)}"


def _in_validation(found: Grid, name: str, rate: str, seed: int, length: int) -> str:
    """Validation exact match of one run at a length of training."""
    runs, numbers = found.runs, found.study.numbers
    (run_id,) = runs.loc[
        (runs["name"] == name) & (runs[RATE] == rate) & (runs["seed"] == seed), "run_id"
    ]
    is_asked = (numbers["run_id"] == run_id) & (numbers["metric"] == "exact_match")
    is_asked &= (numbers["split"] == "validation") & (numbers["length"] == length)
    (value,) = numbers.loc[is_asked, "value"]
    return formats.number(value)


def _repeated(root: Path, found: Grid) -> pd.DataFrame:
    """Exact match at 1.125 times the length of the runs that the pilot trained too."""
    pilot = run_scores.of(frame.read(root / PILOT).numbers)
    column = run_scores.at(1.125)
    both = found.runs.merge(pilot, on="run_id", suffixes=("", " there"))
    return pd.DataFrame({"here": both[column], "there": both[f"{column} there"]})


def draw(root: Path) -> None:
    suite_grid.draw_form(root, form="addition")
