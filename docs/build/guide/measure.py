"""What `python -m docs.build --measure=guide` measures, trains and draws for docs/guide.md."""

import tempfile
from pathlib import Path

from configs import quickstart
from docs.build.guide import numbers, pictures, trained
from docs.build.guide.page import MEASURED
from pe_lab.runs import config, records
from pe_lab.training.run_records import provenance


def measure(root: Path) -> None:
    """Writes the guide's own numbers and pictures; two trainings of the quickstart's recipe are
    among them.
    """
    recipe, shown = quickstart.get_config().to_dict(), (root / MEASURED).parent
    shown.mkdir(parents=True, exist_ok=True)
    fresh = numbers.fresh(config.from_dict(recipe).model)
    with tempfile.TemporaryDirectory() as folder:
        runs = trained.train(recipe, Path(folder))
        inside, tables = trained.look(runs, Path(folder), shown)
    pictures.draw(tables, shown)
    about = provenance(config.from_dict(recipe))
    records.write_json(root / MEASURED, {"provenance": about, "fresh": fresh, "trained": inside})
