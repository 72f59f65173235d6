"""The table of step times of tasks."""

import json
from pathlib import Path
from typing import Any

from docs.build import markdown
from docs.build.published import STUDIES

THROUGHPUT = STUDIES / "throughput" / "throughput.json"


def lookups(root: Path) -> dict[str, Any]:
    """Lookups of the page of throughput."""
    rows = [["task", "length", "ms", "compiled in, s"]]
    for figure in json.loads((root / THROUGHPUT).read_text(encoding="utf-8")):
        if figure["error"] is None:
            length = f"{figure['length']} {figure['unit']}"
            milliseconds = f"{figure['milliseconds']:.2f}"
            seconds = f"{figure['compile_milliseconds'] / 1000:.1f}"
            rows.append([f"`{figure['task']}`", length, milliseconds, seconds])
    return {"throughput": markdown.table(rows)}
