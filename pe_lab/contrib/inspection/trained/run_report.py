"""Output files of a run's inspection: trained.md, trained.json and pictures."""

import json
from collections.abc import Sequence
from pathlib import Path

from pe_lab.contrib.inspection.panels import SUFFIXES
from pe_lab.contrib.inspection.trained.findings import Findings
from pe_lab.contrib.inspection.trained.run_inspection import inspect_run, lengths_of
from pe_lab.contrib.inspection.trained.sections import (
    attention_maps,
    failures,
    heads,
    input_section,
    knock_out_section,
    logit_shares,
    position_probes,
    training_course,
)
from pe_lab.contrib.inspection.trained.sections.section import Section
from pe_lab.results.plots import drawing
from pe_lab.runs.settings.labels import label
from pe_lab.runs.system import files
from pe_lab.training.trained_runs import load, params_through_training


def write(run: Path, lengths: Sequence[int] | None, folder: Path) -> str:
    """Write all output files of a run into a folder, and return the table of knock-outs.

    Args:
      run: the results folder of the study, and the id of the run.

    Raises:
      UserError: there is no such run, it cannot be loaded, or it has no examples of a length.
    """
    trained = load(run.parent, run.name)
    snapshots = params_through_training(run.parent, trained.record)
    findings = inspect_run(trained, lengths_of(trained, lengths), snapshots=snapshots)
    folder.mkdir(parents=True, exist_ok=True)
    # Pictures of an earlier inspection would not belong to this page.
    if (folder / "trained.md").exists():
        for suffix in SUFFIXES:
            for file in folder.glob(f"trained_*{suffix}"):
                file.unlink()
    draw(findings, folder)
    text = json.dumps(findings.to_json(), allow_nan=False, indent=1)
    files.write_text(folder / "trained.json", text + "\n")
    files.write_text(folder / "trained.md", page(findings))
    return knock_out_section.summary(findings)


def draw(findings: Findings, folder: Path) -> None:
    """Write the pictures of all sections as PNG and PDF."""
    with drawing.settings():
        for section in sections(findings):
            for stem, figure in section.pictures.items():
                paths = [folder / f"{stem}{suffix}" for suffix in SUFFIXES]
                drawing.save(figure(), paths)


def page(findings: Findings) -> str:
    """The report in Markdown."""
    parts = [_introduction(findings)]
    parts += [section.markdown() for section in sections(findings)]
    missing = list(findings.missing)
    if not findings.course.terms:
        missing.insert(0, training_course.NOT_KEPT)
    if missing:
        parts.append("## Not in this report\n\n" + "\n".join(f"- {reason}" for reason in missing))
    return "\n\n".join(parts) + "\n"


def sections(findings: Findings) -> list[Section]:
    result = [
        attention_maps.section(findings),
        heads.section(findings),
        logit_shares.section(findings),
    ]
    if findings.input:
        result.append(input_section.section(findings))
    result.append(position_probes.section(findings))
    result.append(knock_out_section.section(findings))
    result.append(failures.section(findings))
    if findings.course.terms:
        result.append(training_course.section(findings))
    if findings.course.input:
        result.append(training_course.input_section(findings))
    return result


def _introduction(findings: Findings) -> str:
    run, config = findings.run, findings.run.config
    names = [spec["name"] for spec in config["model"]["encodings"]]
    lengths = ", ".join(map(str, run.lengths))
    return (
        f"# Inside a trained model: {' + '.join(names) or 'no encoding'} on "
        f"{label(config['task'])}\n\n"
        f"Run {run.run_id} was trained on lengths up to {run.trained_length} {run.unit} with "
        f"positions {label(config['positions'])}. This report shows where its attention goes, how "
        f"much of it depends on content and on position, how well positions can be read from each "
        f"layer, what the encoding contributes, and how answers fail.\n\n"
        f"The examples are the first {run.examples} test examples of its evaluation at each of the "
        f"lengths {lengths}. Layers and heads are numbered from 1; a layer that is applied again "
        f"is counted again. All numbers are of one run with one seed; another seed may solve the "
        f"task in another way."
    )
