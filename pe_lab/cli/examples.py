"""Prints examples of a study's tasks, from its evaluation set.

    pe-lab examples quickstart [--count=3]

Target tokens in [square brackets] are inputs; the model does not predict them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pe_lab.cli import _config_files
from pe_lab.cli._arguments import argument, flag, overrides, whole_number
from pe_lab.runs.errors import UserError


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab examples`."""

    config: str = argument(_config_files.HELP)
    overrides: Sequence[str] = overrides()
    count: int = flag("examples per length", whole_number(1), default=3)


def run(options: Options) -> int:
    config = _config_files.read(options.config, options.overrides)
    from pe_lab.runs.plugins import plugins
    from pe_lab.runs.records.evaluation_points import example_counts
    from pe_lab.runs.settings.labels import label
    from pe_lab.training import evaluation_data  # imports JAX

    for task, counts in example_counts(config.expanded().runs).items():
        built = plugins.build("tasks", task)
        lengths = sorted({n for split, n in counts if split == "test"})
        for length in lengths:
            if length < built.min_length or length > (built.max_length or length):
                raise UserError(
                    f"{task.name} with these arguments has no examples of length {length}, which "
                    f"config.evaluate.lengths has."
                )
        print(f"\n{label(task.to_dict())}")
        for length in lengths:
            print(f"  {length} {built.length_name}")
            for prompt, target in evaluation_data.as_text(built, length, options.count):
                print(f"    {prompt} -> {target}")
    return 0
