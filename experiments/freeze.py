"""Writes the evaluation examples of a study as data sets that any program can read.

    python -m experiments.freeze --config=quickstart
        [--config.evaluate.lengths=4,8] [--out=FOLDER]

The examples are the ones that the study would draw. With --config.evaluate.frozen=FOLDER a study
reads them instead, and its results are identical. A data set is never changed: other lengths or
counts become another data set in the same folder. Exit status: 0, or 2 for wrong arguments.
"""

from pathlib import Path

from absl import flags

from experiments import command_line
from pe_lab.runs.evaluation_points import example_counts
from pe_lab.sweeps import study
from pe_lab.training import frozen_data

_OUT = flags.DEFINE_string("out", "results/frozen", "folder of the data sets")


def main(file: command_line.StudyFile) -> int:
    folder = Path(_OUT.value or "")
    runs = study.expand(file.name, file.values, file.points, Path("results") / file.name).runs
    for task, counts in example_counts(runs).items():
        done = frozen_data.freeze(task, counts, folder)
        print(
            f"{done.task}: {done.count} examples, sha256 {done.digest}\n  "
            f"{'written to' if done.new else 'already in'} {done.path}"
        )
    print(f"to evaluate on them: --config.evaluate.frozen={folder}")
    return 0


if __name__ == "__main__":
    command_line.run_with_config(main)
