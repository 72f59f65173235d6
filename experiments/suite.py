"""Trains encodings on the standard suite and prints their rows, after the published ones if any.

    python -m experiments.suite --encodings='mine=my_package.mine:Mine' [--quick]
    python -m experiments.suite --encodings='rope(base=5e5), my_package.mine:Mine(size=4)'
    python -m experiments.suite    # prints the table of the rows that exist

The budgets are set for 40 minutes an encoding on two cores, and for 6 minutes with --quick: three
tasks and three seeds, in a table of their own. The runs of an encoding are in results/suite/NAME,
or in FOLDER/NAME with --results=FOLDER. Finished runs are not trained again. The tables are also
written there, to all_rows.md and all_rows.tex. docs/suite.md says what the suite can tell. Exit
status: 0; 1 if a run failed; 2 for wrong arguments.
"""

import contextlib
import re
from pathlib import Path
from typing import Any

import jax
from absl import flags

from experiments import allow_plugins, command_line, sweep
from experiments.benchmarks import costs
from pe_lab.results import suite as table_of_suite
from pe_lab.results.suite import SuiteProtocol
from pe_lab.runs import files, grid, labels, records
from pe_lab.runs.errors import UserError
from pe_lab.runs.grid import Point
from pe_lab.studies import suite
from pe_lab.studies.suite import Form
from pe_lab.sweeps import design_checks, study, tuning

_COST_STEPS = 15  # timed steps of an encoding, each in turn with steps of nope

_ENCODINGS = flags.DEFINE_string(
    "encodings", "", "encodings with commas between: rope(base=5e5), LABEL=my.module:Mine"
)
_QUICK = flags.DEFINE_bool("quick", False, "three tasks and three seeds, in a table of their own")
_SMOKE = flags.DEFINE_bool("smoke", False, "a tiny form, which only shows that everything works")


def main() -> int:
    if _QUICK.value and _SMOKE.value:
        raise UserError("Give --quick or --smoke, not both.")
    allow_plugins.restrict()
    # This process must not take an accelerator from its workers. It also measures costs, and the
    # published ones are of a CPU.
    jax.config.update("jax_platforms", "cpu")
    form = suite.QUICK if _QUICK.value else suite.FULL
    form = suite.SMOKE if _SMOKE.value else form
    folder = Path(sweep.RESULTS.value or f"results/{form.name}")
    if sweep.only_prints() and not _ENCODINGS.value:
        raise UserError("--dry_run and --write_groups plan the runs of --encodings: name some.")
    encodings = labels.parse_labelled(_ENCODINGS.value) if _ENCODINGS.value else {}
    # A mistake in the last encoding must not appear after the first one has trained.
    tasks_of = {}
    for label, encoding in encodings.items():
        tasks_of[label] = _trainable_tasks(form, label, encoding, folder)
    failed: dict[str, str] = {}
    for label, encoding in encodings.items():
        failures = _train(form, label, encoding, tasks_of[label], folder / _folder_name(label))
        if failures is None:  # --dry_run and --write_groups only print
            continue
        failed |= failures
    if sweep.only_prints():
        with contextlib.suppress(OSError):
            folder.rmdir()  # planning made it, unless it has files
    else:
        _show(form, folder)
    return sweep.report(failed)


def _folder_name(label: str) -> str:
    return re.sub(r"[^\w.=-]+", "_", label).strip("_")


def _points(form: Form, label: str, encoding: dict[str, Any], tasks: list[str]) -> list[Point]:
    return suite.points([grid.labelled(label, (encoding,))], form, tasks)


def _trainable_tasks(form: Form, label: str, encoding: dict[str, Any], folder: Path) -> list[str]:
    """The tasks whose training lengths an encoding can represent.

    Raises:
      UserError: it has none, or it is no encoding.
    """
    values = suite.get_config(form.smoke).to_dict()
    tasks = []
    for task in form.tasks:
        points = _points(form, label, encoding, [task])
        reason = design_checks.untrainable(study.expand(form.name, values, points, folder).runs[0])
        if reason is None:
            tasks.append(task)
        else:
            sweep.note(f"note: {label} has no numbers for {task}: {reason}")
    if not tasks:
        raise UserError(f"{label} has no positions for the training lengths of any task.")
    return tasks


def _train(
    form: Form, label: str, encoding: dict[str, Any], tasks: list[str], folder: Path
) -> dict[str, str] | None:
    """Train the missing runs of an encoding, unless its row is published."""
    values = suite.get_config(form.smoke).to_dict()
    points = _points(form, label, encoding, tasks)
    tune = tuning.read(form.tune)
    first = study.expand(form.name, values, tuning.first_points(points, tune), folder)
    published = records.read_all(suite.ROWS)
    if all(run.run_id in published for run in first.runs):
        sweep.note(f"{label}: its row is published, so nothing is trained.")
        return {}
    # Contrasts name encodings of the published table.
    analysis = {key: value for key, value in suite.analysis().items() if key != "contrasts"}
    failed = sweep.train(form.name, values, points, folder, analysis, tune)
    is_known = label in table_of_suite.step_times([folder])
    if failed is not None and form is suite.FULL and not is_known:
        _measure_cost(label, encoding, folder / table_of_suite.COST)
    return failed


def _measure_cost(label: str, encoding: dict[str, Any], file: Path) -> None:
    try:
        cost = costs.over_nope(encoding, _COST_STEPS)
        records.write_json(file, [{**cost, "label": label}])
    except UserError as e:
        print(f"note: the time of a step was not measured: {e}")


def _show(form: Form, folder: Path) -> None:
    """Print the tables of the published rows and of the rows in a folder, and write them there."""
    rows = sorted(file.parent for file in folder.glob("*/study.json"))
    if not form.smoke:
        rows.insert(0, suite.ROWS)
    if not rows:
        raise UserError("There is no row yet: name one with --encodings=mine=my_package.mine:Mine.")
    page = table_of_suite.page(rows, _protocol(form), form.remark)
    folder.mkdir(parents=True, exist_ok=True)
    markdown, latex = folder / "all_rows.md", folder / "all_rows.tex"
    files.write_text(markdown, f"{page.markdown}\n")
    files.write_text(latex, page.latex)
    print(f"\n{page.markdown}\n\ntables   {markdown}, {latex}")


def _protocol(form: Form) -> SuiteProtocol:
    """Return the settings of a form's runs as they would be trained now."""
    values = suite.get_config(form.smoke).to_dict()
    points = suite.points([(dict(name="nope"),)], form)
    entries = study.expand(form.name, values, points, Path()).entries
    configs = {entry.labels["task"]: entry.run.to_dict() for entry in entries}
    # Rows of the complete form hold those of the others.
    return SuiteProtocol((form.name, suite.FULL.name), configs, form.seeds)


if __name__ == "__main__":
    command_line.run(main)
