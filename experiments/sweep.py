"""Trains the missing runs of a study and writes its tables and plots.

    python -m experiments.sweep --config=quickstart [--config.train.steps=500]
                                [--results=FOLDER] [--workers=N] [--dry_run] [--write_groups]

--config is a Python file. configs/journey.py:smoke is the small form of configs/journey.py; not
every config has one. --config.KEY=VALUE changes a setting of all runs. A config with a `tune` is
trained in two stages (pe_lab/sweeps/tuning.py). Exit status: 0; 1 if a run failed; 2 for wrong
arguments; 130 after Ctrl-C.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from absl import flags

from experiments import allow_plugins, command_line
from pe_lab.cli import tables
from pe_lab.runs import commands, grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.grid import Point
from pe_lab.sweeps import design_checks, memory, plans, study, sweep, tuning
from pe_lab.sweeps.launchers.base import Launcher, launcher
from pe_lab.sweeps.tuning import Tuning

RESULTS = flags.DEFINE_string(
    "results", None, "results folder; default: a folder in results, named after the config"
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
    tuned_axes = file.tuning.axes if file.tuning else {}
    for path in file.overridden:
        num_set = sum(_replaces({**point, **tuned_axes}, path) for point in file.points)
        if num_set and num_set == len(file.points):
            raise UserError(
                f"--config.{path} has no effect: it is an axis of the sweep. Change the config, "
                f"or use experiments.train."
            )
        if num_set:
            counts = f"{num_set} of {len(file.points)} points"
            note(f"note: --config.{path} has no effect on {counts}, which have it as an axis")
    return run(file.name, file.values, file.points, file.analysis, file.tuning)


def _replaces(axes: Iterable[str], path: str) -> bool:
    """Whether one of the axes sets the value of a path, or of a part that it lies in."""
    return any(f"{path}.".startswith(f"{axis}.") for axis in axes)


def run(
    name: str,
    values: dict[str, Any],
    points: list[Point],
    analysis: dict[str, Any] | None = None,
    tune: Tuning | None = None,
) -> int:
    """Train the missing runs of a study, write its tables and return the exit status."""
    folder = Path(RESULTS.value or f"results/{name}")
    failed = train(name, values, points, folder, analysis, tune)
    if failed is None:
        return 0
    tables.show(folder)
    return report(failed)


def train(
    name: str,
    values: dict[str, Any],
    points: list[Point],
    folder: Path,
    analysis: dict[str, Any] | None = None,
    tune: Tuning | None = None,
) -> dict[str, str] | None:
    """Train the missing runs of a study, as the flags say.

    Returns:
      One sentence for each failed run; None after --dry_run and --write_groups, which only print.
    """
    allow_plugins.restrict(values, points)
    starts = launcher(values.get("launcher"), _WORKERS.value)
    if tune is None:
        asked = study.expand(name, values, points, folder, analysis)
        return _train(asked, folder, starts, _DesignNotes(asked, tuning.num_seeds(points)))
    return _train_tuned(name, values, points, analysis, tune, folder, starts)


def only_prints() -> bool:
    """Return whether --dry_run or --write_groups forbids to train."""
    return bool(_DRY_RUN.value or _WRITE_GROUPS.value)


def note(line: str) -> None:
    """Print a line that is no command; with --write_groups, a scheduler reads stdout."""
    print(line, file=sys.stderr if _WRITE_GROUPS.value else sys.stdout)


def report(failed: dict[str, str]) -> int:
    """Print the failed runs and return the exit status."""
    for run_id, error in failed.items():
        print(f"failed: {run_id}: {error}", file=sys.stderr)
    return 1 if failed else 0


@dataclasses.dataclass
class _DesignNotes:
    """Notes on the design of a study, which are printed once, before its first training.

    Attributes:
      study: with the points of the first stage, which do not depend on any result.
      seeds: of each variant at the end of the study.
    """

    study: study.Study
    seeds: int
    is_printed: bool = False

    def print(self, todo: plans.Plan) -> None:
        """Print the notes if something is to be trained. --dry_run always prints them."""
        if self.is_printed or not (todo.groups or _DRY_RUN.value):
            return
        self.is_printed = True
        for sentence in design_checks.notes(self.study, self.seeds, todo.setups):
            note(f"note: {sentence}")


def _train(
    asked: study.Study,
    folder: Path,
    starts: Launcher,
    design: _DesignNotes,
    *,
    is_last: bool = True,
) -> dict[str, str] | None:
    """Train the missing runs.

    Args:
      is_last: the study has no further stage.

    Returns:
      One sentence for each failed run; None after --dry_run and --write_groups, which only print.
    """
    todo = plans.make(asked, folder)
    if not todo.groups and not is_last:
        return {}
    # The plan comes first, and doubts about it after it.
    if _DRY_RUN.value:
        print(todo)
    elif todo.groups and not _WRITE_GROUPS.value:
        print(todo.summary)
    if todo.changed_code:
        note(f"{todo.changed_code}; to train again, give another --results")
    for labels in asked.repeated:
        point = ", ".join(f"{axis}={text}" for axis, text in labels.items()) or "the only run"
        note(f"note: the sweep has a point twice: {point}")
    for why in todo.damaged.values():
        note(f"note: {why}")
    design.print(todo)
    if too_large := memory.note(todo.groups, todo.setups):
        note(f"note: {too_large}")
    if _DRY_RUN.value:
        print(todo.estimate(starts.at_once(len(todo.groups))))
        with contextlib.suppress(OSError):
            folder.rmdir()  # planning made it, unless it has files
        return None
    if _WRITE_GROUPS.value:
        for file in sweep.write_groups(todo):
            print(commands.python("-m", "pe_lab.training.process", str(file), str(folder)))
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
    analysis = analysis or {}
    axes = dict.fromkeys([*analysis.get("tuned", ()), *tune.axes])
    analysis = {**analysis, "tuned": tuple(axes)}

    def expanded(points: list[Point], tuned: list[tuning.Tuned], later_runs: int) -> study.Study:
        asked = study.expand(name, values, points, folder, analysis)
        return dataclasses.replace(asked, tuning=tuning.plain(tune, tuned, later_runs))

    stage = tuning.first_points(points, tune)
    later_runs = tuning.num_later_points(points, tune)
    asked = expanded(stage, [], later_runs)
    if tune.extend:
        _check_extensions(points[0], tune, name, values, folder)
    design = _DesignNotes(asked, tuning.num_seeds(points))
    if _train(asked, folder, starts, design, is_last=False) is None:
        _announce_later_runs()
        return None
    tuned = tuning.choose(asked, stage, tune, folder)
    more = tuning.extended_points(points, tune, tuned) if tune.extend else []
    if more:
        note("tuning: settings at an edge get one more value")
        stage += more
        asked = expanded(stage, tuned, later_runs)
        if _train(asked, folder, starts, design, is_last=False) is None:
            _announce_later_runs()
            return None
        tuned = tuning.choose(asked, stage, tune, folder)
    while True:
        for choice in tuned:
            note(f"tuning: {tuning.describe(choice)}")
        all_points = stage + tuning.last_points(points, tune, tuned)
        # The last stage has all points, so runs that failed before are tried again.
        failed = _train(expanded(all_points, tuned, 0), folder, starts, design)
        if failed is None:
            return None
        # A run of the first stage that failed at first may change the choice.
        chosen_again = tuning.choose(asked, stage, tune, folder)
        if [choice.setting for choice in chosen_again] == [choice.setting for choice in tuned]:
            return failed
        print("tuning: runs that had failed before change the choice")
        tuned = chosen_again


def _check_extensions(
    point: Point, tune: Tuning, name: str, values: dict[str, Any], folder: Path
) -> None:
    """Check the values that `extend` may add, before anything is trained.

    One point has no variants to compare, so the analysis of the study is left out.

    Raises:
      UserError: a setting does not accept one of them.
    """
    for path, value in tuning.possible_extensions(tune):
        (setting,) = grid.product({path: [value]})
        try:
            study.expand(name, values, [{**point, **setting}], folder)
        except UserError as error:
            raise UserError(f"tune: extend=True may try {path}={value:g}: {error}") from error


def _announce_later_runs() -> None:
    if _DRY_RUN.value:
        print("later, not in this time: the other seeds, with the settings that are chosen")
    else:
        note("tuning: give the same command again after these run groups, for the next stage")


if __name__ == "__main__":
    command_line.run_with_config(main)
