"""Measurements and pictures of docs/guide.md, made by `python -m docs.build --measure=guide`."""

import tempfile
from pathlib import Path

from docs.build.guide import numbers, pictures, trained
from docs.build.guide.page import MEASURED
from pe_lab.runs import config
from pe_lab.runs.records import records
from pe_lab.studies import quickstart
from pe_lab.training.provenance import provenance


def measure(root: Path) -> None:
    """Write the numbers and pictures. Two runs with the quickstart's settings are trained."""
    settings = quickstart.get_config().to_dict()
    run = config.from_dict(settings)
    target = (root / MEASURED).parent
    target.mkdir(parents=True, exist_ok=True)
    fresh = numbers.fresh(run.model)
    with tempfile.TemporaryDirectory() as folder:
        run_ids = trained.train(settings, Path(folder))
        findings, tables = trained.inspect(run_ids, Path(folder), target)
    pictures.draw(tables, target)
    measured = {"provenance": provenance(run), "fresh": fresh, "trained": findings}
    records.write_json(root / MEASURED, measured)
