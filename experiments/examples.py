"""Prints examples of a study's tasks as text, taken from its evaluation set.

    python -m experiments.examples --config=quickstart [--count=3]

Target tokens in [square brackets] are inputs; the model does not predict them.
"""

from pathlib import Path

from absl import flags

from experiments import command_line
from pe_lab.runs import plugins
from pe_lab.runs.evaluation_points import example_counts
from pe_lab.runs.labels import label
from pe_lab.sweeps import study
from pe_lab.training import evaluation_data

_COUNT = flags.DEFINE_integer("count", 3, "examples per length", lower_bound=1)


def main(file: command_line.StudyFile) -> int:
    runs = study.expand(file.name, file.values, file.points, Path("results") / file.name).runs
    for task, counts in example_counts(runs).items():
        made = plugins.build("tasks", task)
        print(f"\n{label(task.to_dict())}")
        for length in sorted({n for split, n in counts if split == "test"}):
            print(f"  {length} {made.length_name}")
            for prompt, target in evaluation_data.as_text(made, length, _COUNT.value or 1):
                print(f"    {prompt} -> {target}")
    return 0


if __name__ == "__main__":
    command_line.run_with_config(main)
