"""Trains the missing runs of a study and writes its tables and plots.

    python -m experiments.sweep --config=configs/quickstart.py [--config.train.steps=500]
                                [--results=FOLDER] [--workers=N] [--dry_run] [--write_groups]

--config is a Python file; configs/quickstart.py:smoke is its small form. --config.KEY=VALUE changes
a setting of all runs. A config with a `tune` is trained in two stages (pe_lab/sweeps/tuning.py).
Exit status: 0; 1 if a run failed; 2 for wrong arguments.
"""

import dataclasses
import sys
from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line, tables
from pe_lab.runs.errors import UserError
from pe_lab.runs.grid import Point
from pe_lab.sweeps import design_checks, study, sweep, tuning
from pe_lab.sweeps.launchers.base import Launcher, launcher
from pe_lab.sweeps.tuning import Tuning

_RESULTS = flags.DEFINE_string(
    "results", None, "results folder of the study; default: results/NAME of the config"
)
_WORKERS = flags.DEFINE_integer(
    "workers",
    None,
    "run groups at a time; default: one per GPU, or one per core; on Slurm no limit",
    lower_bound=1,
)
_WRITE_GROUPS = flags.DEFINE_bool(
    "write_groups",
    False,
    "print the command of each run group, for another scheduler, and train nothing",
)
_DRY_RUN = flags.DEFINE_bool(
    "dry_run", False, "print the runs, run groups and estimated time, and train nothing"
)


def main(file: command_line.StudyFile) -> int:
    for path in file.overridden:
        if any(f"{path}.".startswith(f"{axis}.") for point in file.points for axis in point):
            raise UserError(
                f"--config.{path} has no effect: it is an axis of the sweep. Change the config, "
                f"or use experiments.train."
            )
    return run(file.name, file.values, file.points, file.analysis, file.tuning)


def run(
    name: str,
    values: dict[str, Any],
    points: list[Point],
    analysis: dict[str, Any] | None = None,
    tune: Tuning | None = None,
) -> int:
    """Train the missing runs of a study, write its tables and return the exit status."""
    folder = Path(_RESULTS.value or f"results/{name}")
    starts = launcher(values.get("launcher"), _WORKERS.value)
    if tune is None:
        failed = _train(study.expand(name, values, points, folder, analysis), folder, starts)
    else:
        failed = _train_tuned(name, values, points, analysis, tune, folder, starts)
    if failed is None:
        return 0
    tables.show(folder)
    for run_id, error in failed.items():
        print(f"failed: {run_id}: {error}", file=sys.stderr)
    return 1 if failed else 0


def _train(
    asked: study.Study, folder: Path, starts: Launcher, *, is_last: bool = True
) -> dict[str, str] | None:
    """Train the missing runs; one sentence for each failed run.

    None: a flag asked for a plan or for commands, which are printed.

    Args:
      is_last: the study has no further stage.
    """
    todo = sweep.plan(asked, folder)
    if not todo.groups and not is_last:
        return {}
    if todo.changed_code:
        print(f"{todo.changed_code}; to train again, give another --results")
    for labels in asked.repeated:
        point = ", ".join(f"{axis}={text}" for axis, text in labels.items()) or "the only run"
        print(f"note: the sweep has a point twice: {point}")
    for why in todo.damaged.values():
        print(f"note: {why}")
    if todo.groups and not _WRITE_GROUPS.value:  # a scheduler reads the lines of --write_groups
        for note in design_checks.notes(asked, todo.setups):
            print(f"note: {note}")
    if _DRY_RUN.value:
        print(f"{todo}\n{todo.estimate(starts.at_once(len(todo.groups)))}")
        return None
    if _WRITE_GROUPS.value:
        for file in sweep.write_groups(todo):
            print(f"python -m pe_lab.training.process {file} {folder}")
        return None
    if not todo.groups:
        print(f"{asked.name}: nothing to do, all {len(asked.runs)} runs are in {folder}.")
    return sweep.run(todo, starts)


def _train_tuned(
    name: str,
    values: dict[str, Any],
    points: list[Point],
    analysis: dict[str, Any] | None,
    tune: Tuning,
    folder: Path,
    starts: Launcher,
) -> dict[str, str] | None:
    """Train every setting with the first seeds, then the best one with the others (tuning.py)."""
    analysis = {"tuned": tuple(tune.axes), **(analysis or {})}

    def expanded(points: list[Point], tuned: list[tuning.Tuned]) -> study.Study:
        asked = study.expand(name, values, points, folder, analysis)
        return dataclasses.replace(asked, tuning=tuning.plain(tune, tuned))

    stage = tuning.first_points(points, tune)
    asked = expanded(stage, [])
    failed = _train(asked, folder, starts, is_last=False)
    if failed is None:
        print("Later: the other seeds of each variant, with the setting that validation chooses.")
        return None
    tuned = tuning.choose(asked, stage, tune, folder)
    more = tuning.extended_points(points, tune, tuned) if tune.extend else []
    if more:
        stage += more
        asked = expanded(stage, tuned)
        more_failed = _train(asked, folder, starts, is_last=False)
        if more_failed is None:
            return None
        failed |= more_failed
        tuned = tuning.choose(asked, stage, tune, folder)
    stage += tuning.last_points(points, tune, tuned)
    last_failed = _train(expanded(stage, tuned), folder, starts)
    return None if last_failed is None else failed | last_failed


if __name__ == "__main__":
    command_line.run_with_config(main)
