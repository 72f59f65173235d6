"""The first table of README.md and docs/findings.md: solved runs of suite_grid that extrapolate.

Every run at every learning rate counts, so no rule of choice is needed. Addition is left out,
because no run extrapolates on it.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build import markdown
from docs.build.suite_rows import SCORES
from pe_lab.contrib.grids import clustered, run_scores, suite_tables
from pe_lab.results import formats

# The labels of tasks in the scores, with their headers.
TASKS = {
    "copy": "distinct symbols",
    "copy repeated": "may repeat",
    "recall": "recall",
    "sort": "sort",
    "flip_flop": "last written bit",
}
LEARNED_SLOPES = "alibi(learn_slopes=True)"
POOLED = ("rope", "xpos", "sinusoidal", "learned")
# The rows of the front page. docs/findings.md has all.
FRONT = ("path", "shaw", "fire", LEARNED_SLOPES, "kerple", "alibi", "nope")
THRESHOLD, AT = 0.9, run_scores.at(2)


def lookups(root: Path) -> dict[str, Any]:
    """Return the lookups of both pages."""
    runs = suite_tables.read_scores(root / SCORES)
    plain = [str(name) for name in runs["name"].unique() if _is_plain(str(name))]
    names = [*plain, LEARNED_SLOPES]
    rows = {f"`{name}`": [name] for name in names}
    together = ", ".join(f"`{name}`" for name in POOLED)
    front = {f"`{name}`": [name] for name in FRONT} | {together: list(POOLED)}
    return {
        "tiers": _with_totals(runs, rows),
        "front_tiers": markdown.table(
            [
                ["encoding", *TASKS.values()],
                *([name, *of] for name, of in cells(runs, front).items()),
            ]
        ),
        "tier": functools.partial(_total, runs),
        "num_tier_rows": str(len(rows)),
    }


def _is_plain(name: str) -> bool:
    """Whether it is an encoding with its default arguments and contiguous positions."""
    return "(" not in name and " · " not in name


def outcomes(runs: pd.DataFrame, names: Sequence[str], task: str = "") -> pd.DataFrame:
    """Return the solved runs of some encodings by seed: extrapolates and solved.

    Args:
      runs: of suite_tables.read_scores.
      task: "" for all tasks of the table.
    """
    is_asked = runs["name"].isin(names) & runs["task"].isin([task] if task else list(TASKS))
    solved = runs[is_asked & runs["solved"].astype(bool)]
    extrapolates = (solved[AT] >= THRESHOLD).groupby(solved["seed"]).sum()
    return pd.DataFrame({"extrapolates": extrapolates, "solved": solved.groupby("seed").size()})


def cells(runs: pd.DataFrame, rows: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return "k/n" for each row and task; a dash if no run solves the training lengths."""
    return {
        row: [_count(outcomes(runs, names, task)) for task in TASKS] for row, names in rows.items()
    }


def _count(of_seeds: pd.DataFrame) -> str:
    extrapolates, solved = of_seeds.sum()
    return f"{extrapolates:.0f}/{solved:.0f}" if solved else formats.DASH


def _total(runs: pd.DataFrame, *names: str) -> str:
    """Return the count of encodings over all tasks, with the interval of its share."""
    of_seeds = outcomes(runs, names)
    interval = clustered.interval(of_seeds["extrapolates"], of_seeds["solved"])
    return _count(of_seeds) + formats.bracket(interval)


def _with_totals(runs: pd.DataFrame, rows: Mapping[str, Sequence[str]]) -> str:
    """Return the table of all rows, the highest share first."""

    def share(names: Sequence[str]) -> float:
        extrapolates, solved = outcomes(runs, names).sum()
        return float(extrapolates / solved)

    of_tasks = cells(runs, rows)
    # A share over fewer tasks is another number, so such rows are last.
    order = sorted(rows, key=lambda row: (formats.DASH in of_tasks[row], -share(rows[row])))
    ordered = {row: rows[row] for row in order}
    body = [[row, *of_tasks[row], _total(runs, *names)] for row, names in ordered.items()]
    return markdown.table([["encoding", *TASKS.values(), "all"], *body])
