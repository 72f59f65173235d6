"""The tables of the suite: encodings that train at every learning rate on each of its tasks.

A row is published or in a folder. The published rows are the scores of their runs (run_scores.py),
which docs/build/suite_rows.py writes into one CSV file.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pe_lab.contrib.grids.tables import setting_tables
from pe_lab.results import comparable, frame, notes, selection
from pe_lab.results.formats import DASH, Cell, Table, number
from pe_lab.results.study import Study
from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies.analysis_spec import SEPARATOR, AnalysisSpec

COST = "cost.json"  # in the folder of a row
STEP_TIME = "step time"
_RATE = "train.learning_rate"
_LABELS = ("run_id", "task", "name", "signs", _RATE)
# Settings that all rows share, except for the free ones. The curve is in no table.
_COMPARED = ("task", "layout", "positions", "model", "train", "evaluate")
_FREE = ("model.encodings", _RATE, "evaluate.curve_lengths")
_COST_NOTE = (
    "*step time*: relative to nope, measured in turns with it in the model of "
    "configs/encoding_costs.py, with 80 tokens."
)


@dataclass(frozen=True)
class SuiteProtocol:
    """The settings that all rows of a table share.

    Attributes:
      study: name of the studies that may have rows.
      configs: of a run with any encoding, seed and rate, as plain values, by the label of its task.
      rates: learning rates of each row.
      seeds: number of seeds at each rate.
    """

    study: str
    configs: Mapping[str, JsonObject]
    rates: tuple[float, ...]
    seeds: int


@dataclass(frozen=True)
class Rows:
    """Rows of the suite.

    Attributes:
      scores: one row for each run, as `scores` returns them.
      left_out: one sentence for each row without some of its tasks, and its reason.
    """

    scores: pd.DataFrame
    left_out: tuple[str, ...]


def scores(study: Study, step_times: Mapping[str, float]) -> pd.DataFrame:
    """Return the scores of the runs of all complete rows.

    Args:
      study: before `selection.choose`.
      step_times: time of a training step relative to nope, by the name of a row.

    Returns:
      One row for each run, with its task, the name of its row, the signs behind this name, the step
      time of the row, and the scores of setting_tables.full_grid.
    """
    runs = setting_tables.full_grid(study, fewest_seeds=2)
    if runs.empty:
        return runs
    chosen = selection.choose(study)
    signs_of = {}
    for variant in runs["name"].unique():
        # The only variant of a study has no name there: it differs from no other one.
        signs_of[variant] = " ".join(
            comparable.signs_of_name(chosen, variant or chosen.variants.index[0])
        )
    axes = [axis for axis in study.axes if axis in runs and axis not in (_RATE, "task")]
    labels = runs[axes].astype(str).to_numpy()
    names = pd.Series([SEPARATOR.join(filter(None, row)) for row in labels], index=runs.index)
    first = runs.columns.get_loc("max_length") + 1
    columns = dict.fromkeys([*_LABELS, STEP_TIME, "seed", "solved", *runs.columns[first:]])
    added = {"signs": runs["name"].map(signs_of), "name": names, STEP_TIME: names.map(step_times)}
    return runs.assign(**added)[list(columns)]


def read_scores(file: Path) -> pd.DataFrame:
    """Return the scores of published rows, as `scores` has them."""
    return pd.read_csv(file, dtype=dict.fromkeys(_LABELS, str)).fillna({"signs": ""})


def step_times(files: Iterable[Path]) -> dict[str, float]:
    """Return the time of a step relative to nope, by label. The first file with a label counts."""
    times: dict[str, float] = {}
    for file in files:
        if not file.exists():
            continue
        try:
            for figure in json.loads(file.read_text(encoding="utf-8")):
                # The first figure of an encoding is for the shorter context.
                times.setdefault(figure["label"], float(figure["times_first"]))
        except (ValueError, LookupError, TypeError, RecursionError) as e:
            raise UserError(f"{file} is damaged ({one_line(e)}): measure it again.") from e
    return times


def united(published: pd.DataFrame, folders: Sequence[Path], protocol: SuiteProtocol) -> Rows:
    """Return the published rows and the rows in folders; the first one with a name counts.

    Args:
      published: of `read_scores`; runs of other tasks, rates and seeds are left out.
      folders: each holds a study of one row.

    Raises:
      UserError: a folder holds no study, or a record is damaged.
    """
    is_of_protocol = (
        published["task"].isin(list(protocol.configs))
        & published[_RATE].astype(float).isin(protocol.rates)
        & (published["seed"] < protocol.seeds)
    )
    runs = published[is_of_protocol]
    left_out: list[str] = []
    for folder in folders:
        row = _row(folder, protocol)
        left_out += row.left_out
        if row.scores.empty:
            continue
        name = row.scores["name"].iloc[0]
        same = runs[runs["name"] == name]
        # A row of this machine may have been published since.
        new = row.scores[~row.scores["run_id"].isin(same["run_id"])]
        if new["task"].isin(same["task"]).any():
            reason = "the table has a row with this name and other runs"
            left_out.append(f"{name} is left out: {reason}.")
        else:
            runs = pd.concat([runs, new], ignore_index=True)
    return Rows(runs, tuple(left_out))


def _row(folder: Path, protocol: SuiteProtocol) -> Rows:
    """Return the tasks of a folder's row that can be compared with other rows."""
    study = frame.read(folder)
    if study.name != protocol.study:
        reason = f"its study is {study.name}, and this table is of {protocol.study}"
        return Rows(pd.DataFrame(), (f"{folder.name} is left out: {reason}.",))
    if not {"task", "model.encodings"} <= set(study.axes):
        reason = "its study has no tasks or no encodings as an axis"
        return Rows(pd.DataFrame(), (f"{folder.name} is left out: {reason}.",))
    tasks_of: dict[str, list[str]] = {}  # by the reason to leave them out
    planned = set(study.variants["task"])
    for task in protocol.configs:
        if task in planned:
            reason = _reason_to_leave_out(study.cases[study.cases["task"] == task], task, protocol)
            tasks_of.setdefault(reason, []).append(task)
    kept = tasks_of.pop("", [])
    name = study.variants["model.encodings"].iloc[0]
    left_out = []
    if not kept and not tasks_of:
        of_suite = ", ".join(protocol.configs)
        left_out.append(f"{name} is left out: its study has none of the tasks {of_suite}.")
    for reason, tasks in tasks_of.items():
        left_out.append(f"{name} is left out of {', '.join(tasks)}: {reason}.")
    if not kept:
        return Rows(pd.DataFrame(), tuple(left_out))
    runs = scores(study, step_times([folder / COST]))
    return Rows(runs[runs["task"].isin(kept)], tuple(left_out))


def _reason_to_leave_out(cases: pd.DataFrame, task: str, protocol: SuiteProtocol) -> str:
    """Return why the runs of a task are left out of the table; "" if they are not."""
    num_finished = int(cases["status"].isin(["finished", "diverged"]).sum())
    num_runs = len(protocol.rates) * protocol.seeds
    if num_finished < num_runs:
        return f"{num_finished} of its {num_runs} runs are finished"
    config, expected = cases["config"].iloc[0], protocol.configs[task]
    differences = []
    for group in _COMPARED:
        for setting in sorted(expected[group].keys() | config[group].keys()):
            path = f"{group}.{setting}"
            before, now = config[group].get(setting), expected[group].get(setting)
            if path not in _FREE and before != now:
                differences.append(f"config.{path} was {before} and is {now} now")
    return "; ".join(differences)


def tables(runs: pd.DataFrame, spec: AnalysisSpec, tasks: Sequence[str]) -> list[Table]:
    """Return the table of a single task, or four tables with a column for each task.

    Args:
      runs: one row for each run, as `scores` returns them.
    """
    runs = runs.assign(name=names_with_signs(runs))
    if len(tasks) == 1:
        table = setting_tables.by_setting(spec, runs)
        return [notes.table(table.title, table.caption, table.header, table.rows, table.notes)]
    by_task = {}
    for task in tasks:
        of_task = runs[runs["task"] == task]
        if len(of_task):
            by_variant = setting_tables.by_variant(spec, of_task)
            by_task[task] = by_variant.set_index("name").to_dict("index")
    times = runs.groupby("name", sort=False)[STEP_TIME].first()
    of_columns = []
    for column, (title, caption) in _captions(spec).items():
        header = ["variant", *tasks]
        rows = []
        for name in times.index:
            numbers = [by_task.get(task, {}).get(name) for task in tasks]
            rows.append([Cell(name), *(_cell(row, column) for row in numbers)])
        remarks = [setting_tables.intervals_note("Intervals", runs), notes.NOT_SOLVED]
        if column == "runs":
            header.append(STEP_TIME)
            rows = [[*row, _step_time(time)] for row, time in zip(rows, times, strict=True)]
            remarks = [_COST_NOTE]
        of_columns.append(notes.table(title, caption, header, rows, remarks))
    return of_columns


def names_with_signs(runs: pd.DataFrame) -> pd.Series:
    """Return the name of the row of each run, with the signs that it has on any task."""
    names = {}
    for name, of_name in runs.groupby("name"):
        words = " ".join(of_name["signs"]).split()
        names[name] = " ".join([str(name), *dict.fromkeys(words)])
    return runs["name"].map(names)


def _captions(spec: AnalysisSpec) -> dict[str, tuple[str, str]]:
    """Return the title and the caption of the table of each column."""
    place = f"{setting_tables.multiple_of(spec):g}× the training length"
    return {
        "runs": (
            "Runs that extrapolate",
            "Of the runs that solve the training lengths, at any learning rate, those that "
            f"extrapolate: with an exact match of at least {spec.extrapolation.threshold:g} at "
            f"{place}.",
        ),
        "best": (
            "At the best learning rate",
            f"Exact match at {place}, at the best learning rate, which half of the seeds (rounded "
            "down) chooses and the others score.",
        ),
        "validation": (
            "At the learning rate that validation chooses",
            f"Mean exact match at {place}, at the learning rate with the lowest mean validation "
            "loss.",
        ),
        "area": (
            "Area",
            "Mean exact match over the logarithm of the length, from the training length to the "
            "longest test, at the best learning rate for it.",
        ),
    }


def _cell(row: JsonObject | None, column: str) -> Cell:
    """Return a number of `setting_tables.by_variant`; a dash if the task has no such row."""
    if row is None:
        return Cell(DASH)
    if column == "runs":
        return setting_tables.counts(row)
    cell = setting_tables.cell(row, column)
    return cell if row["solved"] else dataclasses.replace(cell, text=cell.text + notes.UNSOLVED)


def _step_time(time: float) -> Cell:
    return Cell(DASH) if pd.isna(time) else Cell(number(time, exact=False), time)
