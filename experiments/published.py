"""Numbers that the page of every published study can have."""

import functools
from pathlib import Path

import pandas as pd

from docs.build.published import STUDIES
from experiments import claims
from pe_lab.contrib.prose.numbers import Prose, listed
from pe_lab.results import frame
from pe_lab.runs.records.record_schema import JsonObject


@functools.cache
def of(root: Path, study: str) -> Prose:
    """Return the texts of a published study below `root`."""
    return Prose(frame.read(root / STUDIES / study))


def lookups(root: Path, name: str) -> JsonObject:
    """Return the names of a page that need no analysis of its own."""
    study = of(root, name)
    return {
        "study": study,
        "of": functools.partial(of, root),
        "commits": commits,
        "training_time": training_time,
        "seeds_of_variants": _range(study.chosen.variants["runs"]),
        **claims.lookups(study.study),
    }


def commits(study: Prose) -> str:
    """Return the commits of all runs with their numbers of runs."""
    texts = []
    counts = study.study.cases.drop_duplicates("run")["commit"].value_counts()
    for commit, count in counts.items():
        runs = "1 run" if count == 1 else f"{count} runs"
        texts.append(f"{runs} at {str(commit)[:7]}")
    return listed(texts)


def training_time(study: Prose) -> str:
    """Return the hours of the training programs of a study, by kind of machine."""
    runs = study.study.cases.drop_duplicates("run")
    machines = [provenance["device"] for provenance in runs["provenance"]]
    hours = runs["train_seconds"].groupby(machines, sort=False).sum() / 3600
    return listed(f"{amount:.2g} h {_on(str(name))}" for name, amount in hours.items())


def _on(device: str) -> str:
    """Words for a device of a record, such as "cpu: cpu" or "gpu: NVIDIA H200"."""
    kind, _, model = device.partition(": ")
    return "of a CPU core" if kind == "cpu" else f"on an {model}"


def _range(values: "pd.Series[int]") -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"
