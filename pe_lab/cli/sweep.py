"""Trains the missing runs of a study and writes its tables and plots.

    pe-lab sweep quickstart
    pe-lab sweep mine.py --seeds=5 --config.train.steps=500 --dry-run

CONFIG is the name of a config in the folder configs or in pe_lab, or a Python file.
quickstart:smoke is the small form of quickstart; not every config has one. --config.KEY=VALUE
changes a setting of all runs. Exit status: 0; 1 if a run failed; 2 for wrong arguments; 130 after
Ctrl-C.
"""

import dataclasses
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pe_lab.cli import _config_files, _training
from pe_lab.cli._arguments import allow_plugins, argument, file_path, flag, overrides, whole_number
from pe_lab.cli._config_files import StudyConfig
from pe_lab.runs import grid
from pe_lab.runs.errors import UserError


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab sweep`."""

    config: str = argument(_config_files.HELP)
    overrides: Sequence[str] = overrides()
    seeds: int | None = flag(
        "train the seeds 0 to N - 1, in place of the config's", whole_number(1), default=None
    )
    results: Path | None = flag(
        "results folder; default: a folder in results, named after the config",
        file_path,
        default=None,
    )
    workers: int | None = flag(_training.WORKERS, whole_number(1), default=None)
    dry_run: bool = flag(_training.DRY_RUN)
    write_groups: bool = flag(_training.WRITE_GROUPS)
    allow_plugins: Sequence[str] = allow_plugins()


def run(options: Options) -> int:
    study = _config_files.read(options.config, options.overrides)
    if options.seeds is not None:
        points = grid.with_seeds(study.points, options.seeds)
        study = dataclasses.replace(study, points=points)
    _check_overrides(study, file=sys.stderr if options.write_groups else sys.stdout)
    return _training.train(
        study,
        options.results,
        workers=options.workers,
        dry_run=options.dry_run,
        write_groups=options.write_groups,
    )


def _check_overrides(study: StudyConfig, file: TextIO) -> None:
    """Check that no override is replaced by an axis of the sweep.

    Raises:
      UserError: one has no effect on any point.
    """
    for path in study.overridden:
        num_set = sum(_replaces(point, path) for point in study.points)
        if num_set and num_set == len(study.points):
            raise UserError(
                f"--config.{path} has no effect: it is an axis of the sweep. Change the config, "
                f"or use pe-lab train."
            )
        if num_set:
            counts = f"{num_set} of {len(study.points)} points"
            print(
                f"note: --config.{path} has no effect on {counts}, which have it as an axis",
                file=file,
            )


def _replaces(axes: Iterable[str], path: str) -> bool:
    """Whether one of the axes sets the value of a path, or of a part that it lies in."""
    return any(f"{path}.".startswith(f"{axis}.") for axis in axes)
