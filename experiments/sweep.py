"""Trains what a study asks for and is not there yet, and writes its tables and plots.

    python -m experiments.sweep --config=configs/quickstart.py [--config.train.steps=500]
                                [--results=FOLDER] [--workers=N] [--dry_run] [--write_groups]

Exit status: 0, 1 if a run failed, 2 for a mistake in what was given.
"""

import sys
from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line, tables
from pe_lab.runs.errors import UserError
from pe_lab.runs.grid import Point
from pe_lab.sweeps import study, sweep
from pe_lab.sweeps.launchers.base import launcher

_RESULTS = flags.DEFINE_string("results", None, "the study's folder; default results/<study>")
_WORKERS = flags.DEFINE_integer(
    "workers",
    None,
    "run groups at a time; default one a GPU, or one a core, or what a cluster has room for",
    lower_bound=1,
)
_WRITE_GROUPS = flags.DEFINE_bool(
    "write_groups",
    False,
    "print the command of every run group, for another scheduler, and train nothing",
)
_DRY_RUN = flags.DEFINE_bool("dry_run", False, "say what would be trained, and train nothing")


def main(file: command_line.StudyFile) -> int:
    for path in file.overridden:
        if any(f"{path}.".startswith(f"{axis}.") for point in file.points for axis in point):
            raise UserError(
                f"--config.{path} would be overruled: it is an axis of the sweep. Change the "
                f"config, or use experiments.train."
            )
    return run(file.name, file.values, file.points, file.analysis)


def run(
    name: str, values: dict[str, Any], points: list[Point], analysis: dict[str, Any] | None = None
) -> int:
    """Expands, plans, trains, shows."""
    folder = Path(_RESULTS.value or f"results/{name}")
    asked = study.expand(name, values, points, folder, analysis)
    todo = sweep.plan(asked, folder)
    starts = launcher(values.get("launcher"), _WORKERS.value)
    if todo.changed_code:
        print(f"{todo.changed_code}; give another --results to train again")
    for labels in asked.repeated:
        point = ", ".join(f"{axis}={text}" for axis, text in labels.items()) or "the only run"
        print(f"note: the sweep has a point twice: {point}")
    for why in todo.damaged.values():
        print(f"note: {why}")
    if _DRY_RUN.value:
        print(f"{todo}\n{todo.estimate(starts.at_once(len(todo.groups)))}")
        return 0
    if _WRITE_GROUPS.value:
        for file in sweep.write_groups(todo):
            print(f"python -m pe_lab.training.process {file} {folder}")
        return 0
    if not todo.groups:
        print(f"{asked.name}: nothing to do, all {len(asked.runs)} runs are in {folder}.")
    failed = sweep.run(todo, starts)
    tables.show(folder)
    for run_id, error in failed.items():
        print(f"failed: {run_id}: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    command_line.run_with_config(main)
