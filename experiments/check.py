"""Checks the records, study.json, the archive and the checkpoints of a results folder.

    python -m experiments.check --study=quickstart
    python -m experiments.check --results=FOLDER

It prints one line for each problem and changes nothing. Exit status: 0; 1 if there is a problem;
2 for wrong arguments.
"""

from experiments import command_line, study_folder
from pe_lab.runs.errors import UserError
from pe_lab.sweeps import integrity

study_folder.define()


def main() -> int:
    folder = study_folder.folder()
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}.")
    num_problems = 0
    for sentence in integrity.problems(folder):
        print(sentence, flush=True)
        num_problems += 1
    if not num_problems:
        print(f"{folder}: no problem found")
    return 1 if num_problems else 0


if __name__ == "__main__":
    command_line.run(main)
