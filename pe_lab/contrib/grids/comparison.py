"""One row of the suite beside published ones, in few columns, and a sentence about it.

A cell counts runs as the README does: those that extrapolate, of those that solve the training
lengths, at any learning rate. Published runs of other rates and seeds do not count here.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from pe_lab.contrib.grids.tables import setting_tables
from pe_lab.results.formats import DASH, Cell, Table, bracket
from pe_lab.results.statistics import Interval
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies.analysis_spec import AnalysisSpec

PUBLISHED = ("rope", "alibi", "nope")  # the first two of them, without the row itself
# By row and task, the numbers of setting_tables.by_variant.
Counts = Mapping[str, Mapping[str, JsonObject]]


def table(runs: pd.DataFrame, name: str, spec: AnalysisSpec, tasks: Sequence[str]) -> Table:
    """Return the table of a row and two published ones: a line for each task of the row.

    Args:
      runs: scores as `suite_tables.scores` returns them, of all rows.
    """
    counts = _counts(runs, name, spec)
    lines = []
    for task in tasks:
        if task in counts[name]:
            cells = [_cell(of_row.get(task)) for of_row in counts.values()]
            lines.append([Cell(task), *cells])
    caption = (
        f"Runs with an exact match of at least {spec.extrapolation.threshold:g} at "
        f"{_place(spec)}, of those that solve the training lengths. A dash: none solves them."
    )
    remarks = (
        f"The {_design(runs, name, spec)} of the suite count. The README of pe_lab applies the "
        "same rule to more rates and seeds.",
        "Brackets have 95 % Wilson intervals of the share, of an effective number of runs: runs of "
        "one seed may end alike. Intervals of so few seeds are wide.",
    )
    rows = tuple(map(tuple, lines))
    return Table(f"{name} beside published rows", caption, ("task", *counts), rows, remarks)


def sentence(runs: pd.DataFrame, name: str, spec: AnalysisSpec, tasks: Sequence[str]) -> str:
    """Return the sentence that may stand beside the table in a text."""
    (own, of_own), *others = _counts(runs, name, spec).items()
    parts = []
    for task in tasks:
        if task in of_own:
            part = _own_part(task, of_own[task])
            if others:
                beside = ", ".join(_other_part(other, of_row.get(task)) for other, of_row in others)
                part += f" ({beside})"
            parts.append(part)
    return (
        f"At {_place(spec)}, {own} has an exact match of at least "
        f"{spec.extrapolation.threshold:g} in {', '.join(parts)}. Runs count that solve the "
        f"training lengths, at {_design(runs, name, spec)}."
    )


def _counts(runs: pd.DataFrame, name: str, spec: AnalysisSpec) -> Counts:
    """Return the counts of a row, and then those of published ones, on each task."""
    others = [other for other in PUBLISHED if other != name and other in set(runs["name"])]
    counts: dict[str, dict[str, JsonObject]] = {}
    for row in (name, *others[:2]):
        counts[row] = {}
        for task, of_task in runs[runs["name"] == row].groupby("task", sort=False):
            (numbers,) = setting_tables.by_variant(spec, of_task).to_dict("records")
            counts[row][str(task)] = numbers
    return counts


def _cell(numbers: JsonObject | None) -> Cell:
    if numbers is None or not numbers["solved"]:
        return Cell(DASH)
    interval = Interval(numbers["reliably_low"], numbers["reliably_high"], "wilson")
    text = setting_tables.counts(numbers).text + bracket(interval)
    return Cell(text, numbers["reliably"], interval)


def _own_part(task: str, numbers: JsonObject) -> str:
    if not numbers["solved"]:
        return f"no run on {task}, because none solves it"
    return f"{_share(numbers)} on {task}"


def _other_part(name: str, numbers: JsonObject | None) -> str:
    if numbers is None or not numbers["solved"]:
        return f"no run of {name} solves it"
    return f"{name} {_share(numbers)}"


def _share(numbers: JsonObject) -> str:
    return f"{numbers['extrapolates']} of {numbers['solved']} runs"


def _place(spec: AnalysisSpec) -> str:
    return f"{setting_tables.multiple_of(spec):g}× the training length"


def _design(runs: pd.DataFrame, name: str, spec: AnalysisSpec) -> str:
    (setting,) = spec.tuned
    row_runs = runs[runs["name"] == name]
    return f"{row_runs[setting].nunique()} learning rates and {row_runs['seed'].nunique()} seeds"
