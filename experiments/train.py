"""Trains the one run of a config, without its sweep.

    python -m experiments.train --config=quickstart [--config.seed=3] [--results=FOLDER]

The config is the one that get_config() returns. --config.model.encodings="({'name': 'rope'},)"
gives it other encodings. The default of --results is results/train_NAME, with the NAME of the
config. Exit status: 0; 1 if the run failed; 2 for wrong arguments.
"""

from experiments import command_line, sweep
from pe_lab.runs import grid


def main(file: command_line.StudyFile) -> int:
    return sweep.run(f"train_{file.name}", file.values, grid.product())


if __name__ == "__main__":
    command_line.run_with_config(main)
