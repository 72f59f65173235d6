"""Writes report.html of a study: one interactive page with its plots, tables and runs.

    python -m experiments.report --study=quickstart [--against=OTHER]
    python -m experiments.report --results=FOLDER [--against=OTHER]

The page needs neither a network connection nor JAX. --against adds a comparison with another
study: the values of the same variants, and their differences. Exit status: 0, or 2 for wrong
arguments.
"""

from absl import flags

from experiments import command_line, study_folder
from pe_lab.cli import _studies
from pe_lab.results import report, results
from pe_lab.sweeps import changed_code

study_folder.define()
_AGAINST = flags.DEFINE_string("against", None, "name or folder of a study to compare with")


def main() -> int:
    folder = study_folder.folder()
    against = results.load(_studies.folder(_AGAINST.value)) if _AGAINST.value else None
    found = results.load(folder)
    note = changed_code.note(found.records)
    print(report.write(found, folder, against, note))
    if note:
        print(note)
    return 0


if __name__ == "__main__":
    command_line.run(main)
