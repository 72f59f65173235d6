"""Copies a study's records, tables and plots to results/published, where they are committed.

    python -m experiments.publish quickstart [--relative] [--allow-dirty] [--replace]
    python -m experiments.publish mine.zip    # a row of `pe-lab suite --bundle`

--relative draws lengths as multiples of the training length. Runs of code that was not committed
are refused unless --allow-dirty is given, and a study that lacks some of the published runs unless
--replace is given.
The page of the study is rendered too, if its template README.md.jinja is there (experiments.page).

A row is copied to results/published/suite_rows after its digests and settings are checked. Its
class is not imported. `python -m docs.build` then adds the row to the table that pe_lab ships.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from experiments import folders
from pe_lab import cli
from pe_lab.cli import _studies
from pe_lab.cli._arguments import argument, flag
from pe_lab.contrib.grids import bundles, forms, suite_tables
from pe_lab.results import frame, plots, tables
from pe_lab.results.study import Study
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies import study_files
from pe_lab.runs.system import commands
from pe_lab.sweeps import changed_code

ROWS = Path("results/published/suite_rows")


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.publish`."""

    study: Path = argument(f"{_studies.HELP}, or a row as FILE.zip", lambda text: _source(text))
    relative: bool = flag("draw lengths as multiples of the training length")
    allow_dirty: bool = flag("publish runs of code that was not committed")
    replace: bool = flag("replace a published study that has other runs")


def run(options: Options) -> int:
    if options.study.suffix == ".zip":
        return _publish_row(options.study, options)
    folder = options.study
    study = frame.read(folder)
    _check(folder, study, options)
    runs = study.cases.drop_duplicates("run").to_dict("records")
    target = Path("results/published") / study.name
    if target.resolve() == folder.resolve():
        raise UserError(f"{folder} is the published study: give the folder that was trained.")
    if not options.replace:
        _check_published(target, study)
    target.mkdir(parents=True, exist_ok=True)
    run_ids = {run["run_id"] for run in runs}
    records.write_archive(target, (r for r in records.each(folder) if r["run_id"] in run_ids))
    tables.write(study, target)
    plots.write(study, target, relative=options.relative)
    # Last, so that a publication that was interrupted never has new labels on older records.
    named = study_files.read(folder)
    study_files.write(target, named.name, named.entries, named.analysis)
    if note := changed_code.note(runs):
        print(note)
    print(f"published {len(runs)} runs in {target}")
    if (target / "README.md.jinja").exists():
        from experiments import page  # imports JAX and the generated pages

        return page.run(page.Options([target.name], options.allow_dirty))
    command = commands.python("-m", "experiments.page", target.name)
    print(f"say what they show in {target}/README.md.jinja, then render the page: {command}")
    return 0


def _source(text: str) -> Path:
    return Path(text) if text.endswith(".zip") else _studies.folder(text)


def _publish_row(file: Path, options: Options) -> int:
    """Publish a row of the suite that `pe-lab suite --bundle` has written."""
    from pe_lab.contrib.grids import train_rows

    with tempfile.TemporaryDirectory() as unpacked:
        folder = Path(unpacked)
        label = bundles.unpack(file, folder)
        study = frame.read(folder)
        _check(file, study, options)
        if (names := _rows_in(folder)) != {label}:
            raise UserError(f"{file} has the label {label!r}, and its study has {_listed(names)}.")
        target = ROWS / train_rows.folder_name(label)
        folders.restore_folder(target)
        if target.exists() and (names := _rows_in(target)) != {label}:
            raise UserError(
                f"{target} holds {_listed(names)}, and no row is replaced by another one: give "
                f"{label!r} another label."
            )
        if target.exists() and not options.replace:
            raise UserError(f"{target} exists: give --replace to replace the published row.")
        published = suite_tables.read_scores(forms.SCORES)
        if target.exists():
            published = published[published["name"] != label]
        rows = suite_tables.united(published, [folder], train_rows.protocol(forms.FULL))
        if rows.left_out:
            raise UserError(f"{file} is no row of the suite: {rows.left_out[0]}")
        folders.replace_folder(folder, target)
    print(f"published the row of {label} in {target}; python -m docs.build adds it to the table")
    return 0


def _rows_in(folder: Path) -> set[str]:
    """Return the names of the rows of a study of the suite."""
    entries = study_files.read(folder).entries
    return {labels.get("model.encodings", "") for labels, _ in entries}


def _listed(names: set[str]) -> str:
    return f"the row{'s' * (len(names) > 1)} {', '.join(map(repr, sorted(names)))}"


def _check(place: Path, study: Study, options: Options) -> None:
    """Check that a study is complete, and trained from committed code that is known."""
    if not study.variants["finished"].any():
        raise UserError(f"{place} has no finished run to publish.")
    runs = study.cases.drop_duplicates("run").to_dict("records")
    dirty = [run["run_id"] for run in runs if not _is_committed(run["provenance"])]
    if dirty and not options.allow_dirty:
        raise UserError(
            f"{len(dirty)} run{'s' * (len(dirty) > 1)} in {place}, such as {dirty[0]}, used code "
            "that was not committed, or whose commit is unknown: sweep again from a clean "
            "checkout, or give --allow-dirty."
        )
    if study.missing:
        raise UserError(
            f"{place} lacks the records of {study.missing} runs: sweep again, so that none is "
            f"left out."
        )


def _is_committed(provenance: JsonObject) -> bool:
    """Whether all processes that trained or evaluated a run had committed code. None is unknown."""
    later = (*provenance.get("resumed", ()), *provenance.get("evaluated", ()))
    processes = [provenance, *later]
    return all(process.get("dirty", False) is False for process in processes)


def _check_published(target: Path, study: Study) -> None:
    """Refuse to lose published runs, such as those of other variants."""
    if not (target / "study.json").exists():
        return
    entries = study_files.read(target).entries
    lost = {run_id for _, run_id in entries} - set(study.cases["run_id"])
    if lost:
        raise UserError(
            f"{target} has {len(lost)} run{'s' * (len(lost) > 1)} that this study lacks: give "
            f"--replace to replace the published study."
        )


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.publish")
