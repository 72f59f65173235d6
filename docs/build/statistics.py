"""Lookups of docs/statistics.md: the measured coverage of intervals."""

import json
from pathlib import Path
from typing import Any

from docs.build import markdown
from docs.build.coverage import INTERVALS, WORLDS
from docs.build.published import STUDIES
from pe_lab.results import frame
from pe_lab.results.prose import listed
from pe_lab.runs import plugins

RECORD = STUDIES / "coverage" / "coverage.json"


def lookups(root: Path) -> dict[str, Any]:
    """Lookups of the page, from the record below `root`."""
    record = json.loads((root / RECORD).read_text(encoding="utf-8"))
    three = record["centers"]["percentile bootstrap"]["two groups"]["3"]
    with_held_out, without_held_out = held_out(root)
    task_classes = [plugins.find("tasks", name) for name in plugins.names("tasks")]
    thresholds = {cls.threshold for cls in task_classes}  # type: ignore[attr-defined]
    return {
        "solved_thresholds": listed([f"{threshold:g}" for threshold in sorted(thresholds)]),
        "with_held_out": with_held_out,
        "without_held_out": without_held_out,
        "studies": f"{record['studies']:,}",
        "three": _percent(three),
        "centers": _table_of_centers(record["centers"]),
        "rates": _table_of_rates(record["rates"]),
    }


def held_out(root: Path) -> tuple[str, str]:
    """Return the published studies whose training left out evaluation inputs, and the others."""
    names: dict[bool, list[str]] = {True: [], False: []}
    for folder in sorted(path.parent for path in (root / STUDIES).glob("*/study.json")):
        configs = frame.read(folder).cases["config"]
        excluded = {config["train"]["exclude_held_out"] for config in configs}
        for is_excluded in sorted(excluded):  # a study may have runs of both kinds
            names[is_excluded].append(f"`{folder.name}`")
    return listed(names[True] or ["none"]), listed(names[False] or ["none"])


def _table_of_centers(centers: dict[str, Any]) -> str:
    columns = [(kind, world) for kind in INTERVALS for world in WORLDS]
    kind, world = columns[0]
    rows = [["seeds", *(f"{kind}, {world}" for kind, world in columns)]]
    for count in centers[kind][world]:
        shares = [_percent(centers[kind][world][count]) for kind, world in columns]
        rows.append([count, *shares])
    return markdown.table(rows)


def _table_of_rates(rates: dict[str, Any]) -> str:
    columns = [(kind, summary) for kind in rates for summary in ("mean", "least")]
    rows = [["seeds", *(f"{kind}, {summary}" for kind, summary in columns)]]
    for count in rates["wilson"]:
        shares = [_percent(rates[kind][count][summary]) for kind, summary in columns]
        rows.append([count, *shares])
    return markdown.table(rows)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
