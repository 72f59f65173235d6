"""Lookups of kazemnejad10:longer's page: the authors' numbers, and means over solved seeds."""

import functools
from pathlib import Path
from typing import Any

from configs.papers import kazemnejad10
from docs.build import markdown
from experiments import published
from pe_lab.results import formats, summary
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricPoint

TASKS = ("repeat", "replace")  # the config has no numbers of the authors on sort
TRAINED, AUTHORS_TRAINED = 10, 20  # symbols
MULTIPLES = (1.5, 2)


def lookups(root: Path) -> dict[str, Any]:
    study = published.of(root, Path(__file__).parent.name).study
    return {
        "beside_the_authors": _beside_the_authors(study),
        "solved_mean": functools.partial(_solved_mean, study),
    }


def _beside_the_authors(study: Study) -> str:
    """Mean exact match, theirs and ours, at the same multiples of the training length."""
    header = [f"{whose}, {multiple:g}×" for multiple in MULTIPLES for whose in ("theirs", "ours")]
    rows = [["task", "encoding", *header]]
    for task in TASKS:
        for encoding, figures in kazemnejad10.PUBLISHED[task].items():
            row = [task, f"`{encoding}`"]
            for multiple in MULTIPLES:
                theirs = figures[kazemnejad10.LENGTHS.index(round(multiple * AUTHORS_TRAINED))]
                ours = _runs(study, f"{task} · {encoding}", round(multiple * TRAINED))["value"]
                row += [formats.number(theirs), formats.number(float(ours.mean()))]
            rows.append(row)
    return markdown.table(rows)


def _solved_mean(study: Study, name: str, length: int) -> str:
    """Mean exact match of the seeds that solve the training lengths."""
    runs = _runs(study, name, length)
    return formats.number(float(runs["value"][runs["solved"]].mean()))


def _runs(study: Study, name: str, length: int) -> Any:
    cases = study.cases[study.cases["variant"] == name]
    return summary.values_at(study, cases, "exact_match", MetricPoint(length=length))
