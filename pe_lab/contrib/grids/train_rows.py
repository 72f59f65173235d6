"""Training of rows of the standard suite, and the table of all rows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import jax

from pe_lab.cli import _training
from pe_lab.contrib.grids import bundles, forms, step_time, suite_page, suite_tables
from pe_lab.contrib.grids.forms import Form
from pe_lab.contrib.grids.suite_tables import SuiteProtocol
from pe_lab.results import read_analysis_spec
from pe_lab.runs import grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.grid import Point
from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.run import Run
from pe_lab.runs.system import files, terminal
from pe_lab.sweeps import stages, study
from pe_lab.sweeps.stages import Failures, Mode
from pe_lab.training.build import build_setup
from pe_lab.training.checks import out_of_reach

Encodings = tuple[JsonObject, ...]  # of one row
_COST_STEPS = 15  # timed steps of an encoding, each in turn with steps of nope


def run(
    form: Form,
    rows: Mapping[str, Encodings],
    folder: Path,
    mode: Mode,
    bundle: Path | None = None,
) -> int:
    """Train the missing runs of rows, print what they show and return the exit status.

    Args:
      rows: the encodings of each row that is to be trained, by its label.
      bundle: the archive that is written of the only row.
    """
    # This process must not take an accelerator from its workers. It also measures costs, and the
    # published ones are of a CPU.
    jax.config.update("jax_platforms", "cpu")
    # A mistake in the last row must not appear after the first one has trained.
    _check_labels(rows, folder, bundle)
    tasks_of = {}
    for label, encodings in rows.items():
        tasks_of[label] = _trainable_tasks(form, label, encodings, folder, mode)
        _check_published(form, label, encodings, tasks_of[label], folder)
    failed: dict[str, str] = {}
    for label, encodings in rows.items():
        points = _points(form, label, encodings, tasks_of[label])
        failures = _train(form, label, encodings, points, folder / folder_name(label), mode)
        failed |= failures or {}
    if not mode.only_prints:
        _show(form, folder)
        _training.show_later_notes(mode)
        if bundle and not failed:
            _write_bundle(rows, folder, bundle)
    return _training.report(failed)


def _check_labels(rows: Iterable[str], folder: Path, bundle: Path | None) -> None:
    """Check that rows have folders of their own.

    Raises:
      UserError: a label is no name of a folder or, with a bundle, of an archive's row.
    """
    label_of: dict[str, str] = {}
    for label in rows:
        if bundle:
            bundles.check_label(label)
        name = folder_name(label)
        if label_of.setdefault(name, label) != label:
            raise UserError(
                f"The rows {label_of[name]!r} and {label!r} have one folder, {folder / name}: give "
                f"one of them another label."
            )


def _write_bundle(rows: Mapping[str, Encodings], folder: Path, file: Path) -> None:
    (label,) = rows
    bundles.write(folder / folder_name(label), label, file)
    terminal.show(f"bundle   {file}")


def folder_name(label: str) -> str:
    """Return the name of the folder of a row.

    Raises:
      UserError: the label gives none, such as "..".
    """
    return files.plain_name(re.sub(r"[^\w.=-]+", "_", label).strip("_"), f"a row, from {label!r}")


def _points(form: Form, label: str, encodings: Encodings, tasks: list[str]) -> list[Point]:
    return forms.points([grid.labelled(label, encodings)], form, tasks)


def _trainable_tasks(
    form: Form, label: str, encodings: Encodings, folder: Path, mode: Mode
) -> list[str]:
    """Return the tasks whose training lengths the encodings of a row can represent.

    Raises:
      UserError: they have none, or one is no encoding.
    """
    values = forms.get_config(form).to_dict()
    tasks = []
    for task in form.tasks:
        points = _points(form, label, encodings, [task])
        reason = untrainable(study.expand(form.name, values, points, folder).runs[0])
        if reason is None:
            tasks.append(task)
        else:
            mode.note(f"note: {label} has no numbers for {task}: {reason}")
    if not tasks:
        raise UserError(f"{label} has no positions for the training lengths of any task.")
    return tasks


def untrainable(run: Run) -> str | None:
    """Return why an encoding or a scheme has no positions for the training lengths, or None."""
    setup = build_setup(run, trained=False)
    return out_of_reach(setup, run.train.max_length, 0, train=True)


def _check_published(
    form: Form, label: str, encodings: Encodings, tasks: Sequence[str], folder: Path
) -> None:
    """Refuse a row with the name of a published row of other runs, which tables would leave out."""
    published = suite_tables.read_scores(forms.SCORES)
    for task in tasks if not form.is_smoke else ():
        is_named = (published["name"] == label) & (published["task"] == task)
        run_ids = _run_ids(form, _points(form, label, encodings, [task]), folder)
        if is_named.any() and not run_ids <= set(published["run_id"]):
            raise UserError(
                f"The published rows have one named {label}, with other encodings: give yours "
                f"another name."
            )


def _run_ids(form: Form, points: list[Point], folder: Path) -> set[str]:
    values = forms.get_config(form).to_dict()
    return {run.run_id for run in study.expand(form.name, values, points, folder).runs}


def _train(
    form: Form, label: str, encodings: Encodings, points: list[Point], folder: Path, mode: Mode
) -> Failures:
    """Train the missing runs of a row, unless it is published."""
    values = forms.get_config(form).to_dict()
    published = suite_tables.read_scores(forms.SCORES)
    if _run_ids(form, points, folder) <= set(published["run_id"]):
        mode.note(f"{label}: its row is published, so nothing is trained.")
        return {}
    request = stages.StudyRequest(form.name, values, points, folder, forms.analysis())
    failed = stages.train(request, mode)
    cost = folder / suite_tables.COST
    if failed is not None and form is forms.FULL and not cost.exists():
        _measure_cost(label, encodings, cost)
    return failed


def _measure_cost(label: str, encodings: Encodings, file: Path) -> None:
    values = forms.cost_config().to_dict()
    try:
        cost = step_time.over_nope(values, encodings, _COST_STEPS)
        records.write_json(file, [{**cost, "label": label}])
    except UserError as e:
        terminal.show(f"note: the time of a step was not measured: {e}")


def _show(form: Form, folder: Path) -> None:
    """Print the rows of a folder beside published ones, and write the tables of all rows there."""
    rows = sorted(file.parent for file in folder.glob("[!.]*/study.json"))
    published = suite_tables.read_scores(forms.SCORES)
    if form.is_smoke:
        if not rows:
            raise UserError("There is no row yet: name one, as in mine=my_package.mine:Mine.")
        published = published.iloc[:0]
    spec = read_analysis_spec.from_dict(forms.analysis())
    page = suite_page.page(published, rows, protocol(form), spec, form.remark)
    folder.mkdir(parents=True, exist_ok=True)
    markdown, latex = folder / "all_rows.md", folder / "all_rows.tex"
    files.write_text(markdown, f"{page.markdown}\n")
    files.write_text(latex, page.latex)
    terminal.show(f"\n{page.answer}\n\ntables of all rows   {markdown}, {latex}")


def protocol(form: Form) -> SuiteProtocol:
    """Return the settings of a form's runs as they would be trained now."""
    values = forms.get_config(form).to_dict()
    points = forms.points([(dict(name="nope"),)], form)
    entries = study.expand(form.name, values, points, Path()).entries
    configs = {entry.labels["task"]: entry.run.to_dict() for entry in entries}
    return SuiteProtocol(form.name, configs, forms.RATES, forms.SEEDS)
