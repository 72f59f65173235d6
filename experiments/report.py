"""Writes report.html of a study: one page to explore, without a network and without JAX.

    python -m experiments.report --study=quickstart [--against=OTHER]        (or --results=FOLDER)

--study and --against are names, whose folders are results/<name>, or paths. --against puts the
cells of another study beside those of the same name, with their differences.
"""

from pathlib import Path

from absl import flags

from experiments import command_line
from pe_lab.results import report, results
from pe_lab.sweeps import changed_code, status

_STUDY = flags.DEFINE_string("study", None, "the study: its name, or its folder")
_RESULTS = flags.DEFINE_string("results", None, "the study's folder; the same as --study=FOLDER")
_AGAINST = flags.DEFINE_string(
    "against", None, "another study, to be compared with: its name, or its folder"
)


def main() -> int:
    folder = Path(_RESULTS.value) if _RESULTS.value else status.folder_of(_STUDY.value or "")
    against = results.load(status.folder_of(_AGAINST.value)) if _AGAINST.value else None
    found = results.load(folder)
    note = changed_code.note(found.records)
    print(report.write(found, folder, against, note))
    if note:
        print(note)
    return 0


if __name__ == "__main__":
    command_line.run(main)
