"""docs/guide.md: what `python -m experiments.document --guide` measures, trains and draws for it,
and how it is written.
"""

import json
import tempfile
from pathlib import Path

from configs import quickstart
from pe_lab.inspection.guide import numbers, page, pictures, trained
from pe_lab.runs import config, records
from pe_lab.training.run_records import provenance

GUIDE, TEMPLATE, MEASURED = (
    Path("docs/guide.md"),
    Path("docs/guide.md.jinja"),
    Path("docs/pictures/guide/guide.json"),
)
SCORECARD, STUDIES = Path("docs/pictures/scorecard.json"), Path("results/published")


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


def written(root: Path) -> str:
    """The page as its template and the records below `root` have it now."""
    card, measured = (
        json.loads((root / file).read_text(encoding="utf-8")) for file in (SCORECARD, MEASURED)
    )
    return page.render(
        (root / TEMPLATE).read_text(encoding="utf-8"), card, measured, root / STUDIES
    )
