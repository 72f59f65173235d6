"""Runs that two published studies have with different numbers."""

from pathlib import Path
from typing import Any

import pandas as pd

from docs.build.rounding import at_most
from experiments import published
from pe_lab.results.study import Study

_POINT = ["run_id", "length", "offset"]


def lookups(root: Path) -> dict[str, Any]:
    """Return how many runs differ from those of exposure, and by how much; and a scale."""
    combine, exposure = published.of(root, "combine"), published.of(root, "exposure")
    gaps = of_studies(combine.study, exposure.study)
    added = combine.chosen.cases_of("sinusoidal · add · 1.0 · 64")
    return {
        "shared_runs": str(len(gaps)),
        "largest_gap": at_most(gaps.max(), digits=2),
        "scale_ratio": float(added["scale_ratio"].str[0].median()),
    }


def of_studies(one: Study, other: Study) -> "pd.Series[float]":
    """Return the largest difference in exact match of each run that differs, by run id."""
    both = _exact_match(one).to_frame("one").join(_exact_match(other).rename("other"))
    largest = (both["one"] - both["other"]).abs().groupby("run_id").max()
    return largest[largest > 0]


def _exact_match(study: Study) -> "pd.Series[float]":
    """Return the exact match of each run as trained, by run id, length and offset."""
    tests = study.numbers.query("metric == 'exact_match' and split == 'test'")
    tests = tests[tests["override"] == ""].astype({"run_id": str}).drop_duplicates(_POINT)
    return tests.set_index(_POINT)["value"]
