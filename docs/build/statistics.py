"""Lookups of docs/statistics.md: the measured coverage of intervals."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build import markdown
from docs.build.coverage import WORLDS
from docs.build.published import STUDIES
from pe_lab.contrib.prose.numbers import listed
from pe_lab.results import frame
from pe_lab.runs.plugins import plugins

RECORD = STUDIES / "coverage" / "coverage.json"


def lookups(root: Path) -> dict[str, Any]:
    """Lookups of the page, from the record below `root`."""
    record = json.loads((root / RECORD).read_text(encoding="utf-8"))
    three = record["centers"]["percentile bootstrap"]["two groups"]["3"]
    # By summary before the number of seeds, as for centers.
    rates = {kind: pd.DataFrame(of_kind).T for kind, of_kind in record["rates"].items()}
    _, without_held_out = held_out(root)
    task_classes = [plugins.find("tasks", name) for name in plugins.names("tasks")]
    thresholds = {cls.threshold for cls in task_classes}  # type: ignore[attr-defined]
    return {
        "solved_thresholds": listed([f"{threshold:g}" for threshold in sorted(thresholds)]),
        "without_held_out": without_held_out,
        "studies": f"{record['studies']:,}",
        "three": _percent(three),
        "centers": _table(record["centers"], list(WORLDS)),
        "rates": _table(rates, ["mean", "least"]),
    }


def held_out(root: Path) -> tuple[str, str]:
    """Return the published studies whose training left out evaluation inputs, and the others."""
    names: dict[bool, list[str]] = {True: [], False: []}
    for folder in sorted(path.parent for path in (root / STUDIES).glob("[!.]*/study.json")):
        configs = frame.read(folder).cases["config"]
        excluded = {config["train"]["exclude_held_out"] for config in configs}
        for is_excluded in sorted(excluded):  # a study may have runs of both kinds
            names[is_excluded].append(f"`{folder.name}`")
    return listed(names[True] or ["none"]), listed(names[False] or ["none"])


def _table(record: Mapping[str, Any], parts: Sequence[str]) -> str:
    """Return the table of some intervals, with a column for each part of an interval's figures.

    Args:
      record: figures by the name of the interval, part and number of seeds.
    """
    columns = {f"{kind}, {part}": record[kind][part] for kind in record for part in parts}
    # As floats, None is NaN.
    table = pd.DataFrame(columns, dtype=float).map(_percent)
    return markdown.table([["seeds", *table], *table.itertuples(name=None)])


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.1f}"
