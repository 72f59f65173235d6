"""Runs that two published studies have with different numbers."""

from pathlib import Path

import pandas as pd

from docs.build import published
from docs.build.rounding import at_most
from pe_lab.results.study import Study

_POINT = ["run_id", "length", "offset"]


def lookups(root: Path, one: str, other: str) -> dict[str, str]:
    """Lookups of a page: how many runs differ, and by how much."""
    gaps = of_studies(published.of(root, one).study, published.of(root, other).study)
    return {"shared_runs": str(len(gaps)), "largest_gap": at_most(gaps.max(), digits=2)}


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
