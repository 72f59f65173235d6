"""The published rows of the suite, which pe_lab ships: the scores of all runs, as CSV."""

from pathlib import Path

import pandas as pd

from docs.build import costs
from docs.build.published import STUDIES
from pe_lab.contrib.grids import forms, suite_tables
from pe_lab.results import frame

ADDED = Path("results/published/suite_rows")  # rows of others, one folder a row
# Published forms, one for each task, with their headers in the site's pages of encodings.
HEADERS = {
    "copying": "distinct symbols",
    "repeated": "symbols may repeat",
    "recall": "recall",
    "sort": "sort",
    "flip_flop": "last written bit",
    "addition": "addition",
}
FOLDERS = {form: STUDIES / f"suite_grid_{form}" for form in HEADERS}
SCORES = Path("pe_lab/contrib/grids") / forms.SCORES.name


def write(root: Path) -> None:
    """Write the scores below `root`, unless they are those of the published records."""
    if not is_stale(root):
        return
    (root / SCORES).write_text(_scores(root), encoding="utf-8")
    print(f"wrote {SCORES}")


def is_stale(root: Path) -> bool:
    """Return whether the scores below `root` differ from those of the published records."""
    if not (root / FOLDERS["copying"] / "study.json").exists():
        return False
    return (root / SCORES).read_text(encoding="utf-8") != _scores(root)


def _scores(root: Path) -> str:
    times = suite_tables.step_times([root / costs.COSTS])
    published = FOLDERS.values()
    parts = [suite_tables.scores(frame.read(root / folder), times) for folder in published]
    for file in sorted((root / ADDED).glob("[!.]*/study.json")):
        times = suite_tables.step_times([file.parent / suite_tables.COST])
        parts.append(suite_tables.scores(frame.read(file.parent), times))
    whole = pd.concat(parts, ignore_index=True)
    return whole.to_csv(index=False, float_format="%.9g", lineterminator="\n")
