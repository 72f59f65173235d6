"""Lookups of abacus4:scaled's page: chance levels, single seeds, and solutions that were lost."""

import functools
from pathlib import Path
from typing import Any

from docs.build import markdown
from pe_lab.results import formats, frame, notes
from pe_lab.results.study import Study

FOLDER = Path("results/published/abacus4_scaled")


def lookups(root: Path) -> dict[str, Any]:
    study = frame.read(root / FOLDER)
    return {
        "chance": functools.partial(_chance, study),
        "by_seed": functools.partial(_by_seed, study),
        "highest": functools.partial(_highest, study),
        "num_lost": functools.partial(_num_lost, study),
    }


def _chance(study: Study, task: str, length: int) -> str:
    """The exact match of the most frequent symbol of each position."""
    levels = study.chance_levels
    is_level = (levels["metric"] == "exact_match") & (levels["length"] == length)
    return formats.number(float(levels.loc[is_level & (levels["task"] == task), "value"].iloc[0]))


def _scores(study: Study, length: int, *names: str) -> Any:
    """Exact match of single runs, as trained, of some variants."""
    rows = study.without_grids().numbers
    is_score = (rows["metric"] == "exact_match") & (rows["split"] == "test")
    return rows[is_score & (rows["length"] == length) & rows["variant"].isin(names)]


def _by_seed(study: Study, lengths: list[int], *names: str) -> str:
    """Exact match of each seed; marked if it did not solve the training lengths."""
    seeds = sorted(study.cases["seed"].unique())
    rows = [["variant", "length", *(f"seed {seed}" for seed in seeds)]]
    for name in names:
        for length in lengths:
            scores = _scores(study, length, name).sort_values("seed")
            cells = [
                formats.number(value) + ("" if solved else f"\\{notes.UNSOLVED}")
                for value, solved in zip(scores["value"], scores["solved"], strict=True)
            ]
            rows.append([f"`{name}`", str(length), *cells])
    return markdown.table(rows)


def _highest(study: Study, length: int, *names: str) -> str:
    """The highest exact match of a run of some variants."""
    return formats.number(_scores(study, length, *names)["value"].max())


def _num_lost(study: Study, *names: str) -> str:
    """Runs that reach the threshold during training and do not solve the training lengths."""
    curves = study.measured_curves
    runs = study.without_grids().cases
    runs = runs[runs["variant"].isin(names)]
    is_validation = (curves["metric"] == "exact_match") & (curves["split"] == "validation")
    curves = curves[is_validation].merge(runs[["run", "max_length", "solved_threshold"]], on="run")
    in_training = curves[curves["length"] == curves["max_length"]]
    has_reached = in_training[in_training["value"] >= in_training["solved_threshold"]]["run"]
    lost = runs["run"].isin(has_reached) & ~runs["solved"].astype(bool)
    return f"{lost.sum()} of {len(runs)}"
