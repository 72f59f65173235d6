"""The training of a study from its config."""

import collections
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pe_lab.runs.grid import Point
from pe_lab.runs.studies.analysis_spec import SEED_AXES
from pe_lab.runs.system import commands, terminal
from pe_lab.sweeps import design_checks, plans, setups, study, sweep
from pe_lab.sweeps.launchers.base import launcher
from pe_lab.sweeps.study import ExpandedStudy

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
    """

    name: str
    values: dict[str, object]
    points: list[Point]
    folder: Path
    analysis: dict[str, object] | None = None


@dataclass(frozen=True)
class Mode:
    """How run groups are started.

    Attributes:
      workers: run groups at a time; None: the launcher's own number.
      dry_run: print the plan, and train nothing.
      write_groups: print the command of each run group for a scheduler, and train nothing.
      later: receives the note on the design that follows the tables. A reader who waits for the
        first run has no use for doubts.
    """

    workers: int | None = None
    dry_run: bool = False
    write_groups: bool = False
    later: list[str] = field(default_factory=list)

    @property
    def only_prints(self) -> bool:
        return self.dry_run or self.write_groups

    def note(self, line: str) -> None:
        """Print a line that is no command; with write_groups, a scheduler reads stdout."""
        terminal.show(line, is_error=self.write_groups)


def train(request: StudyRequest, mode: Mode) -> Failures:
    """Train the missing runs of a study."""
    folder = request.folder
    expanded = study.expand(request.name, request.values, request.points, folder, request.analysis)
    start = launcher(request.values.get("launcher"), mode.workers)
    todo = plans.make(expanded, folder)
    # The plan comes first, and doubts about it after it.
    if mode.dry_run:
        terminal.show(todo)
    elif todo.groups and not mode.write_groups:
        question = (request.analysis or {}).get("question")
        duration = todo.duration(start.at_once(len(todo.groups)))
        terminal.show("\n".join(str(part) for part in (question, todo.summary, duration) if part))
    for sentence in _notes(expanded, todo, mode, _num_seeds(request.points)):
        mode.note(sentence)
    if mode.dry_run:
        terminal.show(todo.estimate(start.at_once(len(todo.groups))))
        return None
    if mode.write_groups:
        for file in sweep.write_groups(todo):
            print(commands.python("-P", "-m", "pe_lab.training.process", str(file), str(folder)))
        return None
    if not todo.groups:
        line = f"{expanded.name}: nothing to do, all {len(expanded.runs)} runs are in {folder}."
        terminal.show(line)
    return sweep.run(todo, start)


def _notes(whole: ExpandedStudy, todo: plans.Plan, mode: Mode, num_seeds: int) -> Iterator[str]:
    """Yield what a user should know of a study before its training."""
    if todo.changed_code:
        yield f"{todo.changed_code}; to train again, give another --results"
    for labels in whole.repeated:
        point = ", ".join(f"{axis}={text}" for axis, text in labels.items()) or "the only run"
        yield f"note: the sweep has a point twice: {point}"
    for why in todo.damaged.values():
        yield f"note: {why}"
    # If nothing is to be trained, only a dry run prints the notes on the design.
    if todo.groups or mode.dry_run:
        sentences = design_checks.notes(whole, num_seeds, todo.setups)
        if mode.only_prints:
            yield from (f"note: {sentence}" for sentence in sentences)
        elif sentences:
            mode.later.append(_first_note(sentences))
    if too_large := setups.memory_note(todo.groups, todo.setups):
        yield f"note: {too_large}"


def _first_note(sentences: list[str]) -> str:
    note = f"note: {sentences[0]}"
    if len(sentences) == 1:
        return note
    return f"{note}. --dry-run prints all {len(sentences)} notes on the design."


def _num_seeds(points: Sequence[Point]) -> int:
    """The smallest number of seeds of a variant."""
    num_seeds: collections.Counter[frozenset[tuple[str, str]]] = collections.Counter()
    for point in points:
        labels = {path: choice.label for path, choice in point.items() if path not in SEED_AXES}
        num_seeds[frozenset(labels.items())] += 1
    return min(num_seeds.values())
