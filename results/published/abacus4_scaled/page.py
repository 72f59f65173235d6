"""Lookups of abacus4:scaled's page: chance levels, single seeds, and solutions that were lost."""

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build import markdown
from docs.build.published import STUDIES
from experiments import published
from pe_lab.results import formats, notes, summary
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricPoint

FOLDER = STUDIES / "abacus4_scaled"


def lookups(root: Path) -> dict[str, Any]:
    study = published.of(root, FOLDER.name).study
    return {
        "chance": functools.partial(_chance, study),
        "by_seed": functools.partial(_by_seed, study),
        "highest": functools.partial(_highest, study),
        "num_lost": functools.partial(_num_lost, study),
    }


def _chance(study: Study, task: str, length: int) -> str:
    """The exact match of the most frequent symbol of each position."""
    levels = study.chance_levels.set_index(["task", "metric", "length"])["value"]
    return formats.number(float(levels[task, "exact_match", length]))


def _scores(study: Study, length: int, *names: str) -> pd.DataFrame:
    """The runs of some variants with their exact match at a length."""
    cases = study.cases[study.cases["variant"].isin(names)]
    return summary.values_at(study, cases, "exact_match", MetricPoint(length=length))


def _by_seed(study: Study, lengths: Sequence[int], *names: str) -> str:
    """Exact match of each seed; marked if it did not solve the training lengths."""
    seeds = sorted(study.cases["seed"].unique())
    rows = [["variant", "length", *(f"seed {seed}" for seed in seeds)]]
    for name in names:
        for length in lengths:
            runs = _scores(study, length, name).sort_values("seed")
            scores = map(_score, runs["value"], runs["solved"])
            rows.append([f"`{name}`", str(length), *scores])
    return markdown.table(rows)


def _score(value: float, solved: bool) -> str:
    if math.isnan(value):
        return formats.DASH
    return formats.number(value) + ("" if solved else f"\\{notes.UNSOLVED}")


def _highest(study: Study, length: int, *names: str) -> str:
    """The highest exact match of a run of some variants."""
    return formats.number(_scores(study, length, *names)["value"].max())


def _num_lost(study: Study, *names: str) -> str:
    """Runs that are solved at a point of their curve and not at the end, of all."""
    runs = study.runs[study.runs["variant"].isin(names)]
    is_lost = runs["steps_to_solve"].notna() & ~runs["solved"].astype(bool)
    return f"{is_lost.sum()} of {len(runs)}"
