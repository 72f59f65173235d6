"""The declared order of rows and share of the rate in size_ladder, against models of width 64."""

from pathlib import Path
from typing import Any

import pandas as pd

from configs import size_ladder
from docs.build import markdown
from docs.build.published import STUDIES
from docs.build.suite_rows import FOLDERS
from experiments.declared import common, ladder
from pe_lab.results import formats
from pe_lab.studies import suite_grid

# The runs of width 64: those of suite_grid and of convolution.
REFERENCE = (*FOLDERS.values(), STUDIES / "convolution_copying", STUDIES / "convolution_tasks")


def lookups(root: Path) -> dict[str, Any]:
    large = common.read([str(root / STUDIES / "size_ladder")])
    reference = common.read([str(root / folder) for folder in REFERENCE])
    is_alike = reference["rate"].isin(size_ladder.RATES) & (reference["seed"] < size_ladder.SEEDS)
    small = reference[is_alike]
    result = ladder.comparison(large, reference)
    assert result.tau is not None
    assert result.change is not None
    center, interval = result.change

    def share(runs: pd.DataFrame, row: str, task: str) -> str:
        """Solved runs that extrapolate, over both rates and all seeds."""
        by_seed = common.counts(runs[(runs["row"] == row) & (runs["task"] == task)])
        return common.share_text(by_seed).replace("+", "")

    names, tasks = list(result.scores.index), size_ladder.TASKS
    headers = [f"{task}, width {width}" for task in tasks for width in (64, 128)]
    shares = [["row", *headers]]
    for name in names:
        cells = [share(runs, name, task).split()[0] for task in tasks for runs in (small, large)]
        shares.append([f"`{name}`", *cells])
    scores = [["row", "width 64", "width 128"]]
    for name, pair in result.scores.iterrows():
        scores.append([f"`{name}`", *(f"{score:.2f}" for score in pair)])
    return {
        "scores": markdown.table(scores),
        "shares": markdown.table(shares),
        "share": lambda row, task: share(large, row, task),
        "share_at_64": lambda row, task: share(small, row, task),
        "tau": f"{result.tau:.2f}",
        "least_tau": f"{common.LEAST_TAU:g}",
        "change": formats.difference(center, interval),
        "num_tasks": str(result.num_tasks),
        "num_rows": str(len(names)),
        "small_width": str(suite_grid.get_config().model.width),
    }
