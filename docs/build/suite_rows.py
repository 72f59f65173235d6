"""The published rows of the standard suite, as pe_lab/studies ships them.

The folder holds a study like any other. Its records have the rows that the suite's tables read and
no curve, which makes them a third as large as the published ones.
"""

import json
from pathlib import Path

from pe_lab.results import suite as suite_tables
from pe_lab.runs import records
from pe_lab.runs.record_schema import JsonObject
from pe_lab.studies import suite

PUBLISHED = Path("results/published/suite")
COSTS = Path("results/published/encoding_costs/costs.json")
FOLDER = Path("pe_lab/studies") / suite.ROWS.name


def write(root: Path) -> None:
    """Write the rows below `root`, unless they are those of the published records."""
    if not is_stale(root):
        return
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    published = records.read_all(root / PUBLISHED)
    records.write_archive(folder, map(_shortened, published.values()))
    (folder / "study.json").write_bytes((root / PUBLISHED / "study.json").read_bytes())
    records.write_json(folder / suite_tables.COST, _costs(root))
    print(f"wrote {FOLDER}")


def is_stale(root: Path) -> bool:
    """Return whether the rows below `root` differ from those of the published records."""
    published, folder = root / PUBLISHED, root / FOLDER
    if not (published / "study.json").exists():
        return False
    if not (folder / "study.json").exists():
        return True
    if (folder / "study.json").read_bytes() != (published / "study.json").read_bytes():
        return True
    if json.loads((folder / suite_tables.COST).read_text(encoding="utf-8")) != _costs(root):
        return True
    expected = records.read_all(published)
    shipped = records.read_all(folder)
    return shipped != {run_id: _shortened(expected[run_id]) for run_id in expected}


def _shortened(record: records.Record) -> JsonObject:
    """Return a record with the rows that the tables and the choice of a rate read."""
    rows = []
    for row in record["rows"]:
        is_loss = row["metric"] == "negative_log_likelihood" and row["split"] == "validation"
        if row["metric"] == "exact_match" or is_loss:
            rows.append(row)
    shortened: JsonObject = {**record, "rows": rows, "curve": []}
    return {**shortened, "digest": records.digest(shortened)}


def _costs(root: Path) -> list[JsonObject]:
    """Return the time of a step relative to nope, of each encoding once."""
    times: dict[str, float] = {}
    for figure in json.loads((root / COSTS).read_text(encoding="utf-8")):
        # The first figure of an encoding is for the shorter context.
        times.setdefault(figure["label"], figure["times_first"])
    return [{"label": label, "times_first": time} for label, time in times.items()]
