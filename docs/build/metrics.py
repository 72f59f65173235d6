"""Lookups of docs/studies.md: the tables of metrics, from the files of pe_lab/metrics."""

from pathlib import Path
from typing import Any

from docs.build import catalog, markdown
from pe_lab.metrics import base

_HEADER = ("metric", "meaning")


def lookups(root: Path) -> dict[str, Any]:
    """Lookups of the page: metrics that evaluation measures, and those that tables compute."""
    measured: list[list[str]] = []
    computed: list[list[str]] = []
    for metric in base.by_name().values():
        rows = measured if isinstance(metric, base.MeasuredMetric) else computed
        rows.append([f"`{metric.name}`", _meaning(metric)])
    return {
        "measured_metrics": markdown.table([_HEADER, *measured]),
        "computed_metrics": markdown.table([_HEADER, *computed]),
    }


def _meaning(metric: base.Metric) -> str:
    """The first sentence of the docstring of the metric's file."""
    return catalog.docstring(type(metric)).partition("\n")[0].removesuffix(".")
