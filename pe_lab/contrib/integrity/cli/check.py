"""Checks a study's records, study.json, archive and checkpoints.

    pe-lab check quickstart

It prints one line for each problem and changes nothing. Exit status: 0; 1 if there is a problem;
2 for wrong arguments.
"""

from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _studies
from pe_lab.cli._arguments import argument
from pe_lab.runs.errors import UserError
from pe_lab.runs.system import terminal, texts


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab check`."""

    study: Path = argument(_studies.HELP, _studies.folder)


def run(options: Options) -> int:
    from pe_lab.contrib.integrity import integrity

    if not options.study.is_dir():
        raise UserError(f"There is no folder {options.study}.")
    num_problems = 0
    for sentence in integrity.problems(options.study):
        terminal.show(texts.printable(sentence))
        num_problems += 1
    if not num_problems:
        terminal.show(f"{options.study}: no problem found")
    return 1 if num_problems else 0
