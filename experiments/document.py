"""Writes docs/tasks.md, docs/statistics.md, docs/guide.md, the measured part of docs/encodings.md,
and docs/tour.ipynb; README.md of every published study, and the results in README.md.

python -m experiments.document              # seconds
python -m experiments.document --chance_levels     # first measures the chance levels of all tasks
python -m experiments.document --coverage   # first simulates the coverage of intervals: ten minutes
python -m experiments.document --scorecard  # first measures and draws the encodings: two minutes
python -m experiments.document --tour       # first runs the notebook: two minutes
python -m experiments.document --guide      # first makes the guide's pictures: two minutes
"""

import json
from pathlib import Path

from absl import flags

from configs import base
from experiments import command_line, guide, readmes, tour
from pe_lab.inspection import page as encodings
from pe_lab.inspection import tasks_page
from pe_lab.results import coverage
from pe_lab.runs import config, plugins, records
from pe_lab.runs.errors import UserError
from pe_lab.training.run_records import provenance

PAGE, CHANCE_LEVELS = (
    Path("docs/tasks.md"),
    Path("results/published/chance_levels/chance_levels.json"),
)
STATISTICS, COVERAGE = Path("docs/statistics.md"), Path("results/published/coverage/coverage.json")
ENCODINGS, SCORECARD = Path("docs/encodings.md"), Path("docs/pictures/scorecard.json")
NUM_EXAMPLES = 2000

_CHANCE_LEVELS = flags.DEFINE_boolean(
    "chance_levels", False, f"measure the chance levels and write {CHANCE_LEVELS}"
)
_COVERAGE = flags.DEFINE_boolean(
    "coverage", False, f"simulate what intervals cover and write {COVERAGE}"
)
_SCORECARD = flags.DEFINE_boolean(
    "scorecard", False, f"measure the encodings, draw them and write {SCORECARD}"
)
_TOUR = flags.DEFINE_boolean("tour", False, f"run {tour.TOUR} and write it with what comes out")
_GUIDE = flags.DEFINE_boolean(
    "guide", False, f"measure, train and draw what the guide shows and write {guide.MEASURED}"
)


def main() -> int:
    if not PAGE.parent.is_dir():
        raise UserError(
            f"There is no folder {PAGE.parent} here: documents are written from the top of the "
            f"repository."
        )
    if _CHANCE_LEVELS.value:
        about = provenance(config.from_dict(base.get_config().to_dict()))
        tasks = {}
        for name in plugins.names("tasks"):
            tasks[name] = tasks_page.measure(name, NUM_EXAMPLES)
            shown = [
                f"{chance_level['token_accuracy']:.3f} at {chance_level['length']}"
                for chance_level in tasks[name]["chance_levels"]
            ]
            print(f"{name}: {', '.join(shown) or tasks[name]['reason']}", flush=True)
        records.write_json(
            CHANCE_LEVELS, {"num_examples": NUM_EXAMPLES, "provenance": about, "tasks": tasks}
        )
    if _COVERAGE.value:
        records.write_json(COVERAGE, coverage.simulate())
    if _SCORECARD.value:
        measure_encodings()
    if _TOUR.value:
        tour.write(Path())
        print(f"wrote {tour.TOUR}")
    if _GUIDE.value:
        guide.measure(Path())
    pages = [
        (PAGE, written, CHANCE_LEVELS),
        (STATISTICS, statistics, COVERAGE),
        (ENCODINGS, encodings_written, SCORECARD),
    ]
    pages += [(guide.GUIDE, guide.written, guide.MEASURED)]
    for path, page, record in pages:
        if record.exists() or path is PAGE:  # tasks have more to say than their chance levels
            path.write_text(page(Path()), encoding="utf-8")
            print(f"wrote {path}")
    for study in readmes.studies(Path()):
        (study / "README.md").write_text(readmes.written(Path(), study), encoding="utf-8")
        print(f"wrote {study / 'README.md'}")
    if readmes.FRONT.exists():
        Path("README.md").write_text(readmes.front_page(Path()), encoding="utf-8")
        print("wrote README.md")
    return 0


def measure_encodings() -> None:
    """Writes a row and a picture of every encoding."""
    SCORECARD.parent.mkdir(exist_ok=True)
    rows = {}
    for name in plugins.names("encodings"):
        rows[name] = encodings.measure(name)
        encodings.draw(name, SCORECARD.parent)
        print(name, flush=True)
    records.write_json(SCORECARD, rows)


def written(root: Path) -> str:
    """The page as the tasks and the record below `root` have it now."""
    record = (
        json.loads((root / CHANCE_LEVELS).read_text(encoding="utf-8"))
        if (root / CHANCE_LEVELS).exists()
        else {}
    )
    return tasks_page.page(
        plugins.names("tasks"), record.get("tasks", {}), record.get("num_examples", NUM_EXAMPLES)
    )


def statistics(root: Path) -> str:
    """The page of statistics, from the record below `root`."""
    return coverage.page(json.loads((root / COVERAGE).read_text(encoding="utf-8")))


def encodings_written(root: Path) -> str:
    """docs/encodings.md with its measured part as the record below `root` has it now."""
    record = json.loads((root / SCORECARD).read_text(encoding="utf-8"))
    return encodings.inserted(
        (root / ENCODINGS).read_text(encoding="utf-8"), record, SCORECARD.parent.name
    )


if __name__ == "__main__":
    command_line.run(main)
