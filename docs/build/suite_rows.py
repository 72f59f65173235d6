"""The published rows of the standard suite and of suite_grid, as pe_lab/studies ships them.

The folder of the suite holds a study like any other. Its records have the rows that the suite's
tables read and no curve, which makes them a third as large as the published ones. Of suite_grid it
ships the scores of its runs, in one CSV file.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.build import costs
from pe_lab.results import frame, suite_grid
from pe_lab.results import suite as suite_tables
from pe_lab.runs import records
from pe_lab.runs.record_schema import JsonObject
from pe_lab.studies import suite

PUBLISHED = Path("results/published/suite")
ADDED = Path("results/published/suite_rows")  # rows of others, one folder a row
GRID = Path("results/published/suite_grid_copying")
FOLDER = Path("pe_lab/studies") / suite.ROWS.name
GRID_SCORES = Path("pe_lab/studies") / suite.GRID_SCORES.name


def write(root: Path) -> None:
    """Write the rows below `root`, unless they are those of the published records."""
    if not is_stale(root):
        return
    shutil.rmtree(root / FOLDER, ignore_errors=True)
    for published, folder in _folders(root).items():
        folder.mkdir(parents=True)
        for name, content in _plain_files(root, published).items():
            (folder / name).write_bytes(content)
        records.write_archive(folder, _records(published).values())
    print(f"wrote {FOLDER}")


def is_stale(root: Path) -> bool:
    """Return whether the rows below `root` differ from those of the published records.

    Records of an older version are as good as those of this one.
    """
    if not (root / PUBLISHED / "study.json").exists():
        return False
    folders = _folders(root)
    shipped = {file.parent for file in (root / FOLDER).rglob("study.json")}
    if shipped != set(folders.values()):
        return True
    for published, folder in folders.items():
        for name, content in _plain_files(root, published).items():
            if not (folder / name).exists() or (folder / name).read_bytes() != content:
                return True
        if _contents(records.read_all(folder)) != _contents(_records(published)):
            return True
    return False


def write_grid(root: Path) -> None:
    """Write the scores of the published runs of suite_grid below `root`, unless they are there."""
    if not is_grid_stale(root):
        return
    (root / GRID_SCORES).write_text(_grid_scores(root), encoding="utf-8")
    print(f"wrote {GRID_SCORES}")


def is_grid_stale(root: Path) -> bool:
    """Return whether the scores below `root` differ from those of the published records."""
    if not (root / GRID / "study.json").exists():
        return False
    return (root / GRID_SCORES).read_text(encoding="utf-8") != _grid_scores(root)


def _grid_scores(root: Path) -> str:
    scores = suite_grid.scores(frame.read(root / GRID))
    return scores.to_csv(index=False, float_format="%.9g", lineterminator="\n")


def _folders(root: Path) -> dict[Path, Path]:
    """Return the folder of each published study that ships, with the one that ships."""
    folders = {root / PUBLISHED: root / FOLDER}
    for study in sorted((root / ADDED).glob("*/study.json")):
        folders[study.parent] = root / FOLDER / study.parent.name
    return folders


def _plain_files(root: Path, published: Path) -> dict[str, bytes]:
    """Return the files of a study that are not its records."""
    contents = {"study.json": (published / "study.json").read_bytes()}
    if published == root / PUBLISHED:
        contents[suite_tables.COST] = _costs(root).encode()
    elif (published / suite_tables.COST).exists():
        contents[suite_tables.COST] = (published / suite_tables.COST).read_bytes()
    return contents


def _contents(by_id: Mapping[str, Any]) -> list[JsonObject]:
    """Return the contents of records. Their digests are of the version that wrote them."""
    return [{**record, "digest": ""} for record in by_id.values()]


def _records(published: Path) -> dict[str, JsonObject]:
    by_id = records.read_all(published)
    return {run_id: _shortened(record) for run_id, record in by_id.items()}


def _shortened(record: records.Record) -> JsonObject:
    """Return a record with the rows that the tables and the choice of a rate read."""
    rows = []
    for row in record["rows"]:
        is_loss = row["metric"] == "negative_log_likelihood" and row["split"] == "validation"
        if row["metric"] == "exact_match" or is_loss:
            rows.append(row)
    shortened: JsonObject = {**record, "rows": rows, "curve": []}
    return {**shortened, "digest": records.digest(shortened)}


def _costs(root: Path) -> str:
    """Return the content of the file of step times: relative to nope, each encoding once."""
    times = suite_tables.step_times([root / costs.COSTS])
    figures = [{"label": label, "times_first": time} for label, time in times.items()]
    return json.dumps(figures, indent=1) + "\n"
