"""Runs whose encodings, schemes or tasks have changed in this checkout since they were trained."""

import functools
from collections.abc import Iterable

from pe_lab.runs.plugins import plugin_sources
from pe_lab.runs.records import record_rows
from pe_lab.runs.records.record_schema import JsonObject


def changed_plugins(records: Iterable[JsonObject]) -> dict[str, list[str]]:
    """The plugins with another file than in training, by run id; no entry for unchanged runs."""
    # Most runs share their plugins, so each version of a file is compared once.
    is_changed = functools.cache(plugin_sources.is_changed)
    changed_by_run = {}
    for record in records:
        sources = record_rows.trained_sources(record)
        names = [name for name, digest in sources.items() if is_changed(name, digest)]
        if names:
            changed_by_run[record["run_id"]] = names
    return changed_by_run


def note(records: Iterable[JsonObject]) -> str | None:
    """One sentence about the runs with changed code; None if there are none."""
    by_run = changed_plugins(records)
    if not by_run:
        return None
    names = sorted({name for changed in by_run.values() for name in changed})
    runs = "1 run was" if len(by_run) == 1 else f"{len(by_run)} runs were"
    return f"note: {runs} trained with other code: {', '.join(names)} changed since"
