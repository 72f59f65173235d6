"""Writes report.html of a study: one page of plots, tables and runs.

    pe-lab report quickstart [--against=OTHER]

The page is interactive, and needs neither a network connection nor JAX. --against adds a comparison
with another study: the values of the same variants, and their differences. Exit status: 0, or 2 for
wrong arguments.
"""

from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _studies
from pe_lab.cli._arguments import argument, flag
from pe_lab.runs.system import terminal


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab report`."""

    study: Path = argument(_studies.HELP, _studies.folder)
    against: Path | None = flag("a study to compare with", _studies.folder, default=None)


def run(options: Options) -> int:
    from pe_lab.contrib.report import report_file
    from pe_lab.results import frame
    from pe_lab.sweeps import changed_code

    against = frame.read(options.against) if options.against else None
    study = frame.read(options.study)
    note = changed_code.note(study.cases.to_dict("records"))
    terminal.show(report_file.write(study, options.study, against, note))
    if note:
        terminal.show(note)
    return 0
