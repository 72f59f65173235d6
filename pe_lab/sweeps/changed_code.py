"""Runs whose encodings, schemes or tasks have changed in this checkout since they were trained."""

from collections.abc import Iterable
from typing import Any

from pe_lab.runs import code_versions, plugins


def changed_plugins(records: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """The plugins with another file than in training, by the id of the run; no entry for none."""
    sources = {record["run_id"]: code_versions.trained(record) for record in records}
    versions = {version for each in sources.values() for version in each.items()}
    changed = {version for version in versions if plugins.changed(dict([version]))}
    by_run = {
        run_id: [version[0] for version in each.items() if version in changed]
        for run_id, each in sources.items()
    }
    return {run_id: names for run_id, names in by_run.items() if names}


def note(records: Iterable[dict[str, Any]]) -> str | None:
    """One sentence about the runs with changed code; None if there are none."""
    by_run = changed_plugins(records)
    if not by_run:
        return None
    names = sorted({name for of_run in by_run.values() for name in of_run})
    runs = "1 run was" if len(by_run) == 1 else f"{len(by_run)} runs were"
    return f"note: {runs} trained with other code: {', '.join(names)} changed since"
