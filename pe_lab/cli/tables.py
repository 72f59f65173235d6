"""Writes a study's tables and plots again, from its records.

    pe-lab tables quickstart [--formats=png,pdf] [--relative]

JAX is not needed. The analysis is that of the last sweep: after a change of analysis(), run
`pe-lab sweep` again, which trains only what is missing. --relative draws lengths as multiples of
the training length. Exit status: 0, or 2 for wrong arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _studies
from pe_lab.cli._arguments import argument, flag, separated
from pe_lab.runs.records import records
from pe_lab.runs.system import commands, terminal


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab tables`."""

    study: Path = argument(_studies.HELP, _studies.folder)
    formats: Sequence[str] = flag("of the plots: png, pdf, svg", separated, default=("png",))
    relative: bool = flag("draw lengths as multiples of the training length")


def run(options: Options) -> int:
    from pe_lab.results.plots import drawing

    drawing.check_formats(options.formats)
    show(options.study, formats=options.formats, relative=options.relative)
    return 0


def show(
    folder: Path,
    *,
    formats: Sequence[str] = ("png",),
    relative: bool = False,
) -> None:
    """Write table.md, table.csv, table.tex and the plots; print the first table and all paths."""
    from pe_lab.metrics import base as metrics
    from pe_lab.results import frame, plots
    from pe_lab.results import tables as _tables
    from pe_lab.sweeps import changed_code

    study = frame.read(folder)
    terminal.show(f"\n{_tables.write(study, folder)}\n")
    if study.missing:
        terminal.show(
            f"without a record: {study.missing} runs of the study, which are in none of these "
            f"numbers\n"
        )
    if note := changed_code.note(study.cases.to_dict("records")):
        terminal.show(f"{note}\n")
    for error in metrics.broken().values():
        terminal.show(f"note: {error} The tables go on without it.\n")
    paths = plots.write(study, folder, formats=formats, relative=relative)
    pictures = ", ".join(map(str, paths)) or "none yet"
    has_archive = (folder / records.ARCHIVE).exists()
    recorded = folder / records.ARCHIVE if has_archive else f"{folder}/records/"
    terminal.show(f"tables   {folder}/table.md, {folder}/table.csv, {folder}/table.tex")
    terminal.show(f"plots    {pictures}")
    terminal.show(f"records  {recorded}")
    report = commands.pe_lab("report", str(folder))
    terminal.show(f"one page to explore: {report}")
