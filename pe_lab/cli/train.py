"""Trains the one run of a config, without its sweep.

    pe-lab train quickstart --encodings="rope(base=5e5) + alibi" --config.seed=3

The config is the one that get_config() returns. --encodings replaces its encodings. The default of
--results is results/train_NAME, with the NAME of the config. Exit status: 0; 1 if the run failed; 2
for wrong arguments.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _config_files, _training
from pe_lab.cli._arguments import allow_plugins, argument, file_path, flag, overrides
from pe_lab.runs import grid
from pe_lab.runs.settings import labels


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab train`."""

    config: str = argument(_config_files.HELP)
    overrides: Sequence[str] = overrides()
    encodings: str | None = flag("encodings joined by +, or none", default=None)
    results: Path | None = flag("results folder", file_path, default=None)
    dry_run: bool = flag(_training.DRY_RUN)
    allow_plugins: Sequence[str] = allow_plugins()


def run(options: Options) -> int:
    study = _config_files.read(options.config, options.overrides)
    values = study.values
    if options.encodings is not None:
        model = {**values["model"], "encodings": labels.parse(options.encodings)}
        values = {**values, "model": model}
    one_run = dataclasses.replace(
        study,
        name=f"train_{study.name}",
        values=values,
        points=grid.product(),
        analysis={},
    )
    return _training.train(one_run, options.results, dry_run=options.dry_run)
