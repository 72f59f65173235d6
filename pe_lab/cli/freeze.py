"""Writes the evaluation examples of a study as data sets that any program can read.

    pe-lab freeze quickstart [--config.evaluate.lengths=4,8] [--out=FOLDER]

The examples are the ones that the study would draw. With --config.evaluate.frozen=FOLDER a study
reads them instead, and its results are identical. A data set is never changed: other lengths or
counts become another data set in the same folder. Exit status: 0, or 2 for wrong arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _config_files
from pe_lab.cli._arguments import argument, flag, overrides


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab freeze`."""

    config: str = argument(_config_files.HELP)
    overrides: Sequence[str] = overrides()
    out: Path = flag("folder of the data sets", Path, default=Path("results/frozen"))


def run(options: Options) -> int:
    config = _config_files.read(options.config, options.overrides)
    from pe_lab.runs.evaluation_points import example_counts
    from pe_lab.training import frozen_data  # imports JAX

    for task, counts in example_counts(config.expanded().runs).items():
        done = frozen_data.freeze(task, counts, options.out)
        print(
            f"{done.task}: {done.count} examples, sha256 {done.digest}\n  "
            f"{'written to' if done.new else 'already in'} {done.path}"
        )
    print(f"to evaluate on them: --config.evaluate.frozen={options.out}")
    return 0
