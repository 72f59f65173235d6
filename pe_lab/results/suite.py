"""The table of the standard suite, with its published rows and rows from other folders."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pe_lab.results import declared_tables, formats, frame, notes, ranking, selection
from pe_lab.results.formats import DASH, Cell, Table, number
from pe_lab.results.latex import as_latex
from pe_lab.results.ranking import MeanRank
from pe_lab.results.study import Study
from pe_lab.runs.analysis_spec import SEPARATOR
from pe_lab.runs.record_schema import JsonObject

COST = "cost.json"  # in the folder of an encoding
# Settings that all rows share, except for the encodings and the tuned learning rate.
_COMPARED = ("task", "layout", "positions", "model", "train", "evaluate")
_FREE = ("model.encodings", "train.learning_rate")
_CAPTION = (
    "Exact match, interquartile mean over seeds. *solved tasks*: tasks that at least half of the "
    "seeds solved."
)
_RANK_NOTE = (
    "*mean rank*: over all tasks, by exact match at twice the training length; 1 is best. It is "
    "given for encodings with ten seeds of which at least half solved each task. Brackets are "
    "percentile bootstrap intervals over seeds; they take the tasks and the chosen learning rates "
    "as they are, and differences between tasks are not in them."
)
_SEEDS_NOTE = (
    "*seeds*: runs of each task with a record. *unfinished*: more runs follow, and the numbers of "
    "the row may change."
)
_COST_NOTE = (
    "*step time*: relative to nope, measured in turns with it in the model of "
    "configs/encoding_costs.py, with 80 tokens."
)


@dataclass(frozen=True)
class SuiteProtocol:
    """The settings that all rows of a table share.

    Attributes:
      study: name of the studies that may have rows.
      configs: of a run with any encoding and seed, as plain values, by the label of its task.
      seeds: runs with smaller seeds are kept.
    """

    study: str
    configs: Mapping[str, JsonObject]
    seeds: int


@dataclass(frozen=True)
class Page:
    """The tables of several folders as Markdown, with all remarks, and as LaTeX."""

    markdown: str
    latex: str


@dataclass(frozen=True)
class MergedStudies:
    """The variants of several folders.

    Attributes:
      left_out: one sentence for each encoding without a row, or without some of its tasks.
    """

    study: Study
    left_out: tuple[str, ...]


def merged(folders: Sequence[Path], protocol: SuiteProtocol) -> MergedStudies:
    """Return the variants of several folders that hold studies with the axes of the suite.

    Args:
      folders: the first one with a variant counts.

    Raises:
      UserError: a folder holds no study, or a record is damaged.
    """
    runs_of: dict[str, set[str]] = {}  # run ids by the name of a row
    tasks_left_out: dict[tuple[str, Path, str], list[str]] = {}
    missing = 0
    parts = []
    studies = [selection.choose(frame.read(folder)) for folder in folders]
    for folder, study in zip(folders, studies, strict=True):
        new_names = {}
        for variant in study.trained.index:
            task = study.by_name[variant]["task_name"]
            if task not in protocol.configs:
                continue
            encoding = study.by_name[variant]["model.encodings"]
            name = SEPARATOR.join([encoding, task])
            cases = study.cases_of(variant)
            cases = cases[cases["seed"] < protocol.seeds]
            run_ids = set(cases["run_id"])
            reason = reason_to_leave_out(study, task, cases, protocol)
            if not reason and name in runs_of:
                if run_ids <= runs_of[name]:
                    continue
                reason = "the table has a row with this name and other runs"
            if reason:
                tasks_left_out.setdefault((encoding, folder, reason), []).append(task)
            else:
                runs_of[name] = run_ids
                new_names[variant] = name
        if new_names:
            missing += study.missing
        parts.append(_part(study, new_names, protocol.seeds))
    sentences = []
    for (encoding, folder, reason), tasks in tasks_left_out.items():
        sentences.append(f"{encoding} in {folder} is left out of {', '.join(tasks)}: {reason}.")
    return MergedStudies(_united(parts, missing), tuple(sentences))


def _part(study: Study, new_names: Mapping[str, str], seeds: int) -> Study:
    """Return some variants of a study under other names, with the smaller seeds."""
    variants = study.variants.loc[list(new_names)].rename(index=new_names)
    cases = study.cases[study.cases["variant"].isin(new_names) & (study.cases["seed"] < seeds)]
    cases = cases.assign(variant=cases["variant"].map(new_names))
    measured = study.measured[study.measured["run"].isin(cases["run"])]
    return dataclasses.replace(study, variants=variants, cases=cases, measured=measured)


def _united(parts: Sequence[Study], missing: int) -> Study:
    """Return one study with the variants of several ones."""
    cases, measured = [], []
    first_run = 0
    for part in parts:
        # Every study counts its runs from 0, and cases find their numbers by this count.
        cases.append(part.cases.assign(run=part.cases["run"] + first_run))
        measured.append(part.measured.assign(run=part.measured["run"] + first_run))
        first_run += 1 + max(part.measured["run"], default=0)
    axes = tuple(dict.fromkeys(axis for part in parts for axis in part.axes))
    variants = pd.concat([part.variants for part in parts])
    variants[list(axes)] = variants[list(axes)].fillna("")
    all_cases = pd.concat(cases, ignore_index=True)
    return dataclasses.replace(
        parts[0],
        name="suite",
        axes=axes,
        variants=frame.described(variants, all_cases),
        cases=all_cases,
        measured=pd.concat(measured, ignore_index=True),
        missing=missing,
        # Without candidates, intervals are over the seeds at the chosen rate.
        settings=None,
        candidates=None,
    )


def reason_to_leave_out(
    study: Study, task: str, cases: pd.DataFrame, protocol: SuiteProtocol
) -> str:
    """Return why the runs of a task are left out of the table; "" if they are not."""
    if study.name != protocol.study:
        return f"its study is {study.name}, and this table is of {protocol.study}"
    if cases.empty:
        return ""
    config = cases["config"].iloc[0]
    expected = protocol.configs[task]
    differences = []
    for group in _COMPARED:
        for setting in sorted(expected[group].keys() | config[group].keys()):
            path = f"{group}.{setting}"
            before, now = config[group].get(setting), expected[group].get(setting)
            if path not in _FREE and before != now:
                differences.append(f"config.{path} was {before} and is {now} now")
    return "; ".join(differences)


def tables(merged: Study, seeds: int, costs: Mapping[str, float]) -> list[Table]:
    """Return the tables of the suite; the first one has seeds, solved tasks, mean ranks and costs.

    Args:
      seeds: of each task of a finished row.
      costs: time of a step relative to nope, by the label of the encodings.
    """
    declared = []
    for spec in merged.spec.tables:
        declared += declared_tables.tables(merged, spec)
    first, *others = declared
    return [_with_summary(merged, first, seeds, costs), *others]


def page_of_study(folder: Path, costs: Sequence[Path] = ()) -> str:
    """Return the tables of one study with the axes of the suite as text."""
    study = selection.choose(frame.read(folder))
    first = study.cases.drop_duplicates("task")
    configs = dict(zip(first["task"], first["config"], strict=True))
    num_seeds = int(study.variants["runs"].max())
    return page([folder], SuiteProtocol(study.name, configs, num_seeds), "", costs).markdown


def page(
    folders: Sequence[Path], protocol: SuiteProtocol, remark: str, costs: Sequence[Path] = ()
) -> Page:
    """Return the tables of several folders, with a remark before them.

    Args:
      costs: files of step times, which take precedence over the files of the folders.
    """
    rows = merged(folders, protocol)
    parts = [remark] if remark else []
    parts += rows.left_out
    if rows.study.variants.empty:
        return Page("\n\n".join(parts), "")
    times = step_times([*costs, *(folder / COST for folder in folders)])
    of_rows = tables(rows.study, protocol.seeds, times)
    if rows.study.missing:
        parts.append(f"Runs of these rows without a record: {rows.study.missing}.")
    parts += [part for part in formats.sections(of_rows) if part]
    # The page has no table of single seeds.
    parts.append(formats.notes(of_rows).replace(notes.EVERY_SEED_SHOWN, ""))
    latex = "\n".join(as_latex(table, rows.study.name) for table in of_rows)
    return Page("\n\n".join(parts), latex)


def step_times(files: Iterable[Path]) -> dict[str, float]:
    """Return the time of a step relative to nope, by label. The first file with a label counts."""
    times: dict[str, float] = {}
    for file in files:
        if not file.exists():
            continue
        for figure in json.loads(file.read_text(encoding="utf-8")):
            # The first figure of an encoding is for the shorter context.
            times.setdefault(figure["label"], figure["times_first"])
    return times


def _with_summary(merged: Study, table: Table, seeds: int, costs: Mapping[str, float]) -> Table:
    ranks = ranking.mean_ranks(merged)
    by_name = ranking.by_name(merged)
    num_tasks = merged.variants["task_name"].nunique()
    rows = []
    for row in table.rows:
        name = row[0].text
        variants = list(by_name[name].values())
        num_solved = sum(ranking.is_solved(merged, variant) for variant in variants)
        counts = [merged.by_name[variant]["runs"] for variant in variants]
        more = [_seeds(counts, seeds), Cell(f"{num_solved}/{num_tasks}", num_solved)]
        if ranks:
            more.append(_rank(ranks.get(name)))
        cost = costs.get(name)
        more.append(Cell(number(cost, exact=False), cost))
        rows.append((*row, *more))
    header = [*table.header, "seeds", "solved tasks"]
    explanations = [*table.notes, _SEEDS_NOTE]
    if ranks:
        header.append("mean rank")
        explanations.append(_RANK_NOTE)
    header.append("step time")
    explanations.append(_COST_NOTE)
    return Table(table.title, _CAPTION, tuple(header), tuple(rows), tuple(explanations))


def _seeds(counts: Sequence[int], seeds: int) -> Cell:
    fewest, most = min(counts), max(counts)
    text = str(fewest) if fewest == most else f"{fewest} to {most}"
    if fewest < seeds:
        text += f" of {seeds}, unfinished"
    return Cell(text, fewest)


def _rank(rank: MeanRank | None) -> Cell:
    if rank is None:
        return Cell(DASH)
    low, high = rank.interval.low, rank.interval.high
    return Cell(f"{rank.mean:.1f} [{low:.1f}, {high:.1f}]", rank.mean)
