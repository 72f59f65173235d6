"""The table of the standard suite: its published rows with rows from other folders among them."""

import dataclasses
import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pe_lab.results import cells, formats, pivot, ranking, results, selection
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.ranking import MeanRank
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import SEPARATOR

COST = "cost.json"  # in the folder of an encoding
PUBLISHED_COSTS = Path("results/published/encoding_costs/costs.json")
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
_COST_NOTE = (
    "*step time*: relative to nope, measured in turns with it in the model of "
    "configs/encoding_costs.py, with 80 tokens."
)


def merged(folders: Sequence[Path], tasks: Collection[str], seeds: int) -> Results:
    """Return the variants of several folders that hold studies with the axes of the suite.

    Args:
      folders: the first one with a variant counts.
      tasks: that are kept.
      seeds: runs with smaller seeds are kept.

    Raises:
      UserError: a folder holds no study, or a record is damaged.
    """
    studies = [selection.chosen(results.load(folder)) for folder in folders]
    by_name: dict[str, Variant] = {}
    for study in studies:
        for variant in study.variants:
            if variant.task not in tasks:
                continue
            name = SEPARATOR.join([variant.labels["model.encodings"], variant.task])
            runs = tuple(run for run in variant.runs if run["member"]["seed"] < seeds)
            # Without candidates, intervals are over the seeds at the chosen rate.
            row = dataclasses.replace(variant, name=name, runs=runs, candidates=())
            by_name.setdefault(name, row)
    missing = sum(study.missing for study in studies)
    return Results("suite", tuple(by_name.values()), missing, studies[0].spec)


def tables(merged: Results, costs: Mapping[str, float]) -> list[Table]:
    """Return the tables of the suite; the first one has solved tasks, mean ranks and costs.

    Args:
      costs: time of a step relative to nope, by the label of the encodings.
    """
    declared = []
    for spec in merged.spec.tables:
        declared += pivot.tables(merged, spec)
    first, *others = declared
    return [_with_summary(merged, first, costs), *others]


def page(folders: Sequence[Path], tasks: Collection[str], seeds: int, remark: str) -> str:
    """Return the tables of several folders as text, with a remark before them."""
    rows = merged(folders, tasks, seeds)
    of_rows = tables(rows, step_times(folders))
    parts = [remark] if remark else []
    if rows.missing:
        parts.append(f"Runs of these rows without a record: {rows.missing}.")
    for table in of_rows:
        parts += [f"## {table.title}", table.caption, formats.markdown(table)]
    notes = dict.fromkeys(itertools.chain(*(table.notes for table in of_rows)))
    parts.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(parts)


def step_times(folders: Sequence[Path]) -> dict[str, float]:
    """Return the time of a step relative to nope, by label.

    Published times count first, then those in files COST of the folders.
    """
    times: dict[str, float] = {}
    files = [PUBLISHED_COSTS, *(folder / COST for folder in folders)]
    for file in files:
        if not file.exists():
            continue
        for figure in json.loads(file.read_text(encoding="utf-8")):
            # The first figure of an encoding is for the shorter context.
            times.setdefault(figure["label"], figure["times_first"])
    return times


def _with_summary(merged: Results, table: Table, costs: Mapping[str, float]) -> Table:
    ranks = ranking.mean_ranks(merged)
    by_name = ranking.by_name(merged)
    num_tasks = len({variant.task for variant in merged.variants})
    rows = []
    for row in table.rows:
        name = row[0].text
        of_tasks = by_name[name].values()
        num_solved = sum(map(ranking.is_solved, of_tasks))
        summary = [Cell(f"{num_solved}/{num_tasks}", num_solved)]
        if ranks:
            summary.append(_rank(ranks.get(name)))
        cost = costs.get(name)
        summary.append(Cell(cells.number(cost, exact=False), cost))
        rows.append((*row, *summary))
    header = [*table.header, "solved tasks"]
    notes = [*table.notes]
    if ranks:
        header.append("mean rank")
        notes.append(_RANK_NOTE)
    header.append("step time")
    notes.append(_COST_NOTE)
    return Table(table.title, _CAPTION, tuple(header), tuple(rows), tuple(notes))


def _rank(rank: MeanRank | None) -> Cell:
    if rank is None:
        return Cell(DASH)
    low, high = rank.interval.low, rank.interval.high
    return Cell(f"{rank.mean:.1f} [{low:.1f}, {high:.1f}]", rank.mean)
