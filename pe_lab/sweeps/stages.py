"""The training of a study from its config: in one stage or, if settings are tuned, in several."""

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path

from pe_lab.results import read_analysis_spec
from pe_lab.runs import commands, grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.grid import Point
from pe_lab.sweeps import design_checks, memory, plans, study, sweep, tuning
from pe_lab.sweeps.launchers.base import launcher
from pe_lab.sweeps.study import ExpandedStudy
from pe_lab.sweeps.tuning import Tuning

# One sentence for each failed run, by run id; None if the mode forbids to train.
Failures = dict[str, str] | None


@dataclass(frozen=True)
class StudyRequest:
    """A study that is to be trained.

    Attributes:
      values: the config's values.
      points: of its sweep.
      folder: its results folder.
      analysis: its analysis spec as plain data.
      tune: its tuning; None without one.
    """

    name: str
    values: dict[str, object]
    points: list[Point]
    folder: Path
    analysis: dict[str, object] | None = None
    tune: Tuning | None = None


@dataclass(frozen=True)
class Mode:
    """How run groups are started.

    Attributes:
      workers: run groups at a time; None: the launcher's own number.
      dry_run: print the plan, and train nothing.
      write_groups: print the command of each run group for a scheduler, and train nothing.
    """

    workers: int | None = None
    dry_run: bool = False
    write_groups: bool = False

    @property
    def only_prints(self) -> bool:
        return self.dry_run or self.write_groups

    def note(self, line: str) -> None:
        """Print a line that is no command; with write_groups, a scheduler reads stdout."""
        print(line, file=sys.stderr if self.write_groups else sys.stdout)


def train(request: StudyRequest, mode: Mode) -> Failures:
    """Train the missing runs of a study."""
    if request.tune is not None:
        return _TunedStages(request, mode, request.tune).train()
    whole = study.expand(
        request.name, request.values, request.points, request.folder, request.analysis
    )
    return _Stages(request, mode).train_stage(whole)


class _Stages:
    """The stages of a study. Notes on its design are printed once, before its first training."""

    def __init__(self, request: StudyRequest, mode: Mode):
        self.request = request
        self.mode = mode
        self.launcher = launcher(request.values.get("launcher"), mode.workers)
        self.seeds = tuning.num_seeds(request.points)  # of each variant at the end of the study
        # Study for the notes on the design, until they are printed. It has the points of the first
        # stage, which depend on no result.
        self.design: ExpandedStudy | None = None
        self.has_notes = True

    def train_stage(self, asked: ExpandedStudy, *, is_last: bool = True) -> Failures:
        """Train the missing runs of a stage.

        Args:
          is_last: the study has no further stage.
        """
        mode, folder = self.mode, self.request.folder
        self.design = self.design or asked
        todo = plans.make(asked, folder)
        if not todo.groups and not is_last:
            return {}
        # The plan comes first, and doubts about it after it.
        if mode.dry_run:
            print(todo)
        elif todo.groups and not mode.write_groups:
            print(todo.summary)
        self._print_notes(asked, todo)
        if mode.dry_run:
            print(todo.estimate(self.launcher.at_once(len(todo.groups))))
            return None
        if mode.write_groups:
            for file in sweep.write_groups(todo):
                print(commands.python("-m", "pe_lab.training.process", str(file), str(folder)))
            return None
        if not todo.groups:
            print(f"{asked.name}: nothing to do, all {len(asked.runs)} runs are in {folder}.")
        return sweep.run(todo, self.launcher)

    def _print_notes(self, asked: ExpandedStudy, todo: plans.Plan) -> None:
        note = self.mode.note
        if todo.changed_code:
            note(f"{todo.changed_code}; to train again, give another --results")
        for labels in asked.repeated:
            point = ", ".join(f"{axis}={text}" for axis, text in labels.items()) or "the only run"
            note(f"note: the sweep has a point twice: {point}")
        for why in todo.damaged.values():
            note(f"note: {why}")
        # If nothing is to be trained, only a dry run prints the notes on the design.
        if self.has_notes and self.design and (todo.groups or self.mode.dry_run):
            self.has_notes = False
            for sentence in design_checks.notes(self.design, self.seeds, todo.setups):
                note(f"note: {sentence}")
        if too_large := memory.note(todo.groups, todo.setups):
            note(f"note: {too_large}")


class _TunedStages:
    """The stages of a tuned study: every setting with the first seeds, then the best one with the
    others (tuning.py).
    """

    def __init__(self, request: StudyRequest, mode: Mode, tune: Tuning):
        analysis = request.analysis or {}
        stated = read_analysis_spec.from_dict(analysis).tuned
        axes = dict.fromkeys([*stated, *tune.axes])
        self.request = dataclasses.replace(request, analysis={**analysis, "tuned": tuple(axes)})
        self.mode = mode
        self.tune = tune
        self.stages = _Stages(self.request, mode)
        # In study.json before the last stage, so that a look at the folder does not call a
        # study complete whose last runs are not known yet.
        self.later_runs = tuning.num_later_points(request.points, tune)

    def train(self) -> Failures:
        request, tune = self.request, self.tune
        points = tuning.first_points(request.points, tune)
        asked = self._study(points, [], self.later_runs)
        # Now, and not after days of training, when a refused value would stop the study.
        if tune.extend:
            _check_extensions(request, tune)
        if self.stages.train_stage(asked, is_last=False) is None:
            self._announce_later_runs()
            return None
        choices = tuning.choose(asked, points, tune, request.folder)
        more = tuning.extended_points(request.points, tune, choices) if tune.extend else []
        if more:
            self.mode.note("tuning: settings at an edge get one more value")
            points += more
            asked = self._study(points, choices, self.later_runs)
            if self.stages.train_stage(asked, is_last=False) is None:
                self._announce_later_runs()
                return None
            choices = tuning.choose(asked, points, tune, request.folder)
        return self._train_last(asked, points, choices)

    def _train_last(
        self, asked: ExpandedStudy, points: list[Point], choices: list[tuning.Tuned]
    ) -> Failures:
        """Train the other seeds with the chosen settings.

        Args:
          asked: the study of the stages before.
          points: of these stages.
        """
        request, tune = self.request, self.tune
        while True:
            for choice in choices:
                self.mode.note(f"tuning: {tuning.describe(choice)}")
            last = tuning.last_points(request.points, tune, choices)
            # The last stage has all points, so runs that failed before are tried again.
            failed = self.stages.train_stage(self._study(points + last, choices, 0))
            if failed is None:
                return None
            # A run of the first stage that failed at first may change the choice.
            chosen_again = tuning.choose(asked, points, tune, request.folder)
            if [choice.setting for choice in chosen_again] == [c.setting for c in choices]:
                return failed
            print("tuning: runs that had failed before change the choice")
            choices = chosen_again

    def _study(
        self, points: list[Point], choices: list[tuning.Tuned], later_runs: int
    ) -> ExpandedStudy:
        request = self.request
        whole = study.expand(request.name, request.values, points, request.folder, request.analysis)
        return dataclasses.replace(whole, tuning=tuning.plain(self.tune, choices, later_runs))

    def _announce_later_runs(self) -> None:
        if self.mode.dry_run:
            print("later, not in this time: the other seeds, with the settings that are chosen")
        else:
            self.mode.note(
                "tuning: give the same command again after these run groups, for the next stage"
            )


def _check_extensions(request: StudyRequest, tune: Tuning) -> None:
    """Check the values that `extend` may add, before anything is trained.

    One point has no variants to compare, so the analysis of the study is left out.

    Raises:
      UserError: a setting does not accept one of them.
    """
    point = request.points[0]
    for path, value in tuning.possible_extensions(tune):
        (setting,) = grid.product({path: [value]})
        try:
            study.expand(request.name, request.values, [{**point, **setting}], request.folder)
        except UserError as error:
            raise UserError(f"tune: extend=True may try {path}={value:g}: {error}") from error
