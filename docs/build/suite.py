"""Lookups of the standard suite: the tables of its published rows."""

from pathlib import Path

from docs.build.suite_rows import COSTS, PUBLISHED
from pe_lab.results import suite


def lookups(root: Path) -> dict[str, str]:
    return {"rows": suite.page_of_study(root / PUBLISHED, [root / COSTS])}
