"""The standard tables of a study: by length, summary, budgets, seeds.

Each of them takes the study with the variants that validation chose.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from pe_lab.metrics.auc import AREA_TO
from pe_lab.results import comparable, compare, declared_tables, metrics, notes, statistics
from pe_lab.results import summary as summaries
from pe_lab.results.formats import DASH, Cell, Table, number
from pe_lab.results.study import Study
from pe_lab.results.summary import Summary
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec, TableSpec

_EXACT = (
    "Exact match: every token of the answer, its end included, is right, on the same examples for "
    "every run. *solved* counts the runs "
    "whose mean exact match over the validation lengths reaches the task's threshold; "
    "where it is not all of them, longer "
    "lengths say little about extrapolation."
)
_FIRST_STEPS = ("steps_to_solve", "steps_to_extrapolate")
_SUMMARIES = {
    "median": "median",
    "iqm": "interquartile mean",
    "mean": "mean ± standard deviation",
}


def of(study: Study, metric: MetricSpec) -> Summary:
    """Summarize a metric, with one row for each variant."""
    return summaries.of_metric(study, study.cases, metric)


def center(study: Study) -> str:
    """Return the summary over seeds: iqm if every variant has ten seeds, else median."""
    fewest = min(seeds_of(study), default=0)
    return "iqm" if fewest >= statistics.BOOTSTRAP_FROM else "median"


def name(study: Study, variant: str) -> Cell:
    """The name of a variant, with the signs that apply at the point of extrapolation."""
    return Cell(" ".join([variant, *comparable.signs_of_name(study, variant)]))


def write(
    study: Study,
    spec: TableSpec,
    remarks: Sequence[str] = (),
    *,
    facts: Mapping[str, Mapping[str, Cell]] = {},
    more: Sequence[Sequence[Cell]] = (),
    beyond: bool = False,
) -> Table:
    """Write a table of measures with one row for each variant.

    Args:
      facts: columns between the names and the measures, by heading: a cell for each variant, or a
        dash. "variant" replaces the names, and its variants are the rows.
      more: rows below those of the variants.
      beyond: numbers beyond the training lengths have an arrow, here or in their headings.
    """
    facts = {"variant": {variant: name(study, variant) for variant in study.by_name}, **facts}
    summaries_of = [(metric.point.length, of(study, metric)) for metric in spec.measures]
    rows = []
    for variant in facts["variant"]:
        row = [cells.get(variant, Cell(DASH)) for cells in facts.values()]
        for length, measured in summaries_of:
            cell = measured.of(variant)
            row.append(_beyond_training(study, variant, length, cell) if beyond else cell)
        rows.append(row)
    header = [*facts, *(declared_tables.column(metric, study) for metric in spec.measures)]
    return notes.table(spec.title, spec.note, header, [*rows, *more], remarks, beyond=beyond)


def by_length(study: Study, metric: str, show: str, offset: int = 0) -> Table:
    """A metric of each variant at each length, with the counts of solved runs.

    The first table of a study also has the counts of runs that extrapolate.
    """
    is_first = (
        show != "mean" and not study.has_text and offset == study.spec.extrapolation.point.offset
    )
    counts = ["extrapolates", "solved"] if is_first else ["solved"]
    facts = {}
    if study.is_of_text:  # nothing to solve
        counts, facts = [], _unfinished(study)
    measures = [MetricSpec(count, label=count) for count in counts]
    for length, heading in zip(study.lengths, _length_names(study), strict=True):
        point = MetricPoint(length=length, offset=offset)
        measures.append(MetricSpec(metric, point, show, heading))
    has_chance = metric in ("exact_match", "token_accuracy")
    more = _chance_levels(study, metric, len(counts)) if has_chance else []
    of_table = []
    if is_first:
        known = [counts.count for counts in compare.extrapolation_counts(study).values()]
        of_table += notes.extrapolation(study, known)
    if show != "mean":
        of_table.append(notes.intervals(seeds_of(study), show))
    caption = _EXACT if is_first else metrics.BY_NAME[metric].caption
    title = f"{_title(metric)} by length, {_SUMMARIES[show]} over seeds{_shift(offset)}"
    spec = TableSpec(title, measures=tuple(measures), note=caption)
    return write(study, spec, of_table, facts=facts, more=more, beyond=True)


def _unfinished(study: Study) -> dict[str, dict[str, Cell]]:
    """Return the column of the runs that diverged or failed, which no center has; {} without any.

    In a study of tasks, the counts of solved runs have them.
    """
    cells = {}
    for variant, row in study.by_name.items():
        parts = [f"{row[status]} {status}" for status in ("diverged", "failed") if row[status]]
        cells[variant] = Cell(", ".join(parts) or "0", row["diverged"] + row["failed"])
    return {"not finished": cells} if any(cell.value for cell in cells.values()) else {}


def seeds(study: Study, metric: str, offset: int = 0) -> Table:
    """One row for each run."""
    by_length = []
    for length in study.lengths:
        point = MetricPoint(length=length, offset=offset)
        by_length.append(summaries.values_at(study, study.cases, metric, point)["value"].tolist())
    rows: dict[str, list[list[Cell]]] = {variant: [] for variant in study.by_name}
    columns = study.cases[["variant", "seed", "data_seed", "status"]].itertuples(index=False)
    style = metrics.BY_NAME[metric].style
    for (variant, seed, data_seed, status), *values in zip(columns, *by_length, strict=True):
        text = str(seed)
        if seed != data_seed:
            text += f", data {data_seed}"
        row = [Cell(variant), Cell(text, seed), Cell(status)]
        for value in values:
            known = None if value != value else value  # NaN differs from itself
            row.append(Cell(number(known, style), known))
        rows[variant].append(row)
    text = f"{_title(metric)} by length, every seed{_shift(offset)}"
    header = ["variant", "seed", "status", *_length_names(study)]
    body = [row for of_variant in rows.values() for row in of_variant]
    return notes.table(text, "", header, body, [], beyond=True)


def summary(study: Study) -> Table:
    """Exact match at the point of extrapolation, and numbers for the whole curve."""
    point = study.spec.extrapolation.point
    measures = [
        MetricSpec("exact_match", point, "seeds", "each seed"),
        MetricSpec("exact_match", point, label="median"),
    ]
    most_seeds = max(seeds_of(study), default=0)
    if most_seeds >= statistics.BOOTSTRAP_FROM:
        measures.append(MetricSpec("exact_match", point, "iqm", "interquartile mean"))
    measures.append(MetricSpec("exact_match", point, "mean", "mean ± sd"))
    measures += [MetricSpec(metric) for metric in ("in_distribution", "log_auc", "L90", "L99")]
    caption = (
        "Exact match there of each seed, and medians over seeds of: *up to training length*, mean "
        "exact match over the measured lengths "
        f"up to it; *log area*, mean exact match from once to {AREA_TO:g} times the "
        f"training length, over the logarithm of length; "
        "*L90* and *L99*, the longest measured length up to which exact match is at least 0.9 or "
        "0.99, smoothed to fall with length."
    )
    of_table = ["≥: also at the longest length measured; <: not at the shortest."]
    names = {metric.show for metric in measures}
    of_table += [
        notes.intervals(seeds_of(study), show) for show in ("median", "iqm") if show in names
    ]
    return write(
        study, TableSpec(f"Exact match {point}", measures=tuple(measures), note=caption), of_table
    )


def budgets(study: Study) -> Table:
    """Size, steps and FLOPs of a run. Seconds depend on the load of the machine."""
    names = ["parameters", "steps"]
    # A study without curves has no first steps, and a text has nothing to solve.
    first_steps = [metric for metric in _FIRST_STEPS if len(study.rows_of(metric))]
    if study.is_of_text:
        first_steps = []
    names += [*first_steps, "flops"]
    trained = study.trained["finished"].to_dict()
    facts = {
        "variant": {variant: Cell(variant) for variant in trained},
        "finished runs": {variant: Cell(str(count), count) for variant, count in trained.items()},
    }
    of_table = []
    if study.settings is not None:
        most_settings = study.settings.groupby("variant").size().max()
        of_table.append(
            f"*Budget of a run* is the budget of the chosen setting. Up to {most_settings} "
            f"settings of each variant were trained."
        )
    if first_steps:
        of_table.append(notes.FIRST_STEPS)
    caption = "Medians over runs. FLOPs are those of unpadded examples."
    measures = tuple(MetricSpec(metric, label=metrics.BY_NAME[metric].label) for metric in names)
    spec = TableSpec("Budget of a run", measures=measures, note=caption)
    return write(study, spec, of_table, facts=facts)


def _title(metric: str) -> str:
    """Return the label of a metric as the start of a title."""
    label = metrics.BY_NAME[metric].label
    return label[0].upper() + label[1:]


def _length_names(study: Study) -> list[str]:
    return [declared_tables.length_name(study, length) for length in study.lengths]


def _beyond_training(study: Study, variant: str, length: int | None, cell: Cell) -> Cell:
    """Add the arrow of a number beyond the training length, where training lengths differ."""
    row = study.by_name[variant]
    # With one training length, the headings have the arrows.
    if length is None or len(study.max_lengths) < 2 or cell.text == DASH:
        return cell
    if not row["finished"] or length <= row["max_length"]:
        return cell
    return dataclasses.replace(cell, text=f"→{cell.text}")


def _chance_levels(study: Study, metric: str, num_counts: int) -> list[list[Cell]]:
    rows = []
    levels = study.chance_levels.set_index(["task", "metric", "length"])["value"].to_dict()
    has_answers = study.finished["corpus_sizes"].isna()  # a text has none
    tasks = study.finished.loc[has_answers, "task"].unique()
    for task in tasks:
        text = "chance level"
        if len(tasks) > 1:
            text += f" of {task}"
        row = [Cell(f"{text} (sees no prompt)"), *[Cell()] * num_counts]
        for length in study.lengths:
            level = levels.get((task, metric, length))
            row.append(Cell(number(level), level))
        rows.append(row)
    return rows


def seeds_of(study: Study) -> Sequence[int]:
    """Return the numbers of finished runs of the variants that have any."""
    finished = study.variants["finished"]
    return list(finished[finished > 0])


def _shift(offset: int) -> str:
    return f", positions shifted by {offset}" if offset else ""
