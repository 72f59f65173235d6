"""The standard tables of a study: by length, summary, choice of settings, budgets, seeds.

Each of them takes the study with the variants that validation chose.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import pandas as pd

from pe_lab.metrics.auc import AREA_TO
from pe_lab.results import (
    compare,
    declared_tables,
    metrics,
    notes,
    selection,
    signs,
    statistics,
)
from pe_lab.results import summary as summaries
from pe_lab.results.formats import DASH, Cell, Table, number
from pe_lab.results.study import Study
from pe_lab.results.summary import Summary
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec

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
    return Cell(" ".join([variant, *signs.of_name(study, variant)]))


def by_length(study: Study, metric: str, show: str, offset: int = 0) -> Table:
    """A metric of each variant at each length, with the counts of solved runs.

    The first table of a study also has the counts of runs that extrapolate.
    """
    is_first = (
        show != "mean" and not study.has_text and offset == study.spec.extrapolation.point.offset
    )
    counts = ["extrapolates", "solved"] if is_first else ["solved"]
    if study.is_of_text:  # nothing to solve
        counts = []
    columns = [of(study, MetricSpec(count)) for count in counts]
    at_lengths = {}
    for length in study.lengths:
        point = MetricPoint(length=length, offset=offset)
        at_lengths[length] = of(study, MetricSpec(metric, point, show))
    rows = []
    for variant in study.by_name:
        row = [name(study, variant), *(column.of(variant) for column in columns)]
        for length, at_length in at_lengths.items():
            row.append(_beyond_training(study, variant, length, at_length.of(variant)))
        rows.append(row)
    if metric in ("exact_match", "token_accuracy"):
        rows += _chance_levels(study, metric, len(counts))
    of_table = []
    if is_first:
        known = [counts.count for counts in compare.extrapolation_counts(study).values()]
        of_table += notes.extrapolation(study, known)
    if show != "mean":
        of_table.append(notes.intervals(seeds_of(study), show))
    caption = _EXACT if is_first else metrics.BY_NAME[metric].caption
    text = f"{_title(metric)} by length, {_SUMMARIES[show]} over seeds{_shift(offset)}"
    header = ["variant", *counts, *_length_names(study)]
    return notes.table(text, caption, header, rows, of_table, beyond=True)


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
            known = None if value != value else value
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
    columns = [of(study, metric) for metric in measures]
    rows = [[name(study, v), *(column.of(v) for column in columns)] for v in study.by_name]
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
    header = ["variant", *(declared_tables.column(metric, study) for metric in measures)]
    return notes.table(f"Exact match {point}", caption, header, rows, of_table)


def tuning(study: Study) -> Table:
    """The chosen setting of each variant, and the results of the others."""
    assert study.settings is not None
    assert study.candidates is not None
    metric = MetricSpec(study.headline, study.spec.extrapolation.point)
    # Variants may have been tuned over different settings.
    settings = list(dict.fromkeys(study.settings.sort_values("order", kind="stable")["setting"]))
    labels = study.settings[["variant", "candidate", "setting"]]
    cases = study.candidates.merge(labels, on=["variant", "candidate"])
    without_choice = dataclasses.replace(study, candidates=None)
    by_setting = summaries.of_metric(without_choice, cases, metric, columns=["setting"])
    best = of(study, dataclasses.replace(metric, show="best"))
    rows = []
    for variant in study.by_name:
        of_variant = selection.settings_of(study, variant)
        of_settings = [by_setting.at((variant,), (setting,)) for setting in settings]
        # The loss that decided. Seeds that the chosen setting alone has are not in it.
        loss = next(iter(of_variant.loc[of_variant["is_chosen"], "loss"]), float("inf"))
        row = [
            name(study, variant),
            Cell(_setting(study, variant)),
            Cell(number(loss, metrics.BY_NAME["in_distribution_loss"].style), loss),
            _tied(of_variant, dict(zip(settings, of_settings, strict=True)), metric),
            *of_settings,
        ]
        if study.spec.oracle:
            row.append(best.of(variant))
        rows.append(row)
    axes = " and ".join(study.spec.tuned)
    caption = (
        f"For each variant, the setting of {axes} with the lowest *validation loss* is chosen: the "
        "mean over lengths up to the training length and over the seeds that all settings have. "
        f"The test is not read. Under each setting: median {metrics.BY_NAME[metric.name].label} "
        f"{metric.point}. *tied settings*: the "
        "range of these medians over the settings that solve as many seeds as the chosen one."
    )
    header = ["variant", "chosen", "validation loss", "tied settings", *settings]
    of_table = []
    if study.spec.oracle:
        header.append(declared_tables.SHOWN["best"])
        of_table.append(notes.oracle(study))
    return notes.table(f"Choice of {axes}", caption, header, rows, of_table)


def budgets(study: Study) -> Table:
    """Size, steps and FLOPs of a run. Seconds depend on the load of the machine."""
    names = ["parameters", "steps"]
    # A study without curves has no first steps, and a text has nothing to solve.
    first_steps = [metric for metric in _FIRST_STEPS if len(study.rows_of(metric))]
    if study.is_of_text:
        first_steps = []
    names += [*first_steps, "flops"]
    columns = [of(study, MetricSpec(metric)) for metric in names]
    rows = []
    for variant in study.trained.index:
        finished = study.by_name[variant]["finished"]
        of_variant = [column.of(variant) for column in columns]
        rows.append([Cell(variant), Cell(str(finished), finished), *of_variant])
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
    header = ["variant", "finished runs", *(metrics.BY_NAME[metric].label for metric in names)]
    return notes.table("Budget of a run", caption, header, rows, of_table)


def _tied(settings: pd.DataFrame, cells: Mapping[str, Cell], metric: MetricSpec) -> Cell:
    """Return the range of the medians of the settings that validation does not separate."""
    tied = settings.loc[settings["is_tied"], "setting"]
    values = [cells[setting].value for setting in tied]
    medians = [value for value in values if isinstance(value, int | float)]
    if not medians:
        return Cell(DASH)
    low, high = min(medians), max(medians)
    style = metrics.BY_NAME[metric.name].style
    text = f"{number(low, style)}–{number(high, style)} ({len(tied)} of {len(settings)})"
    return Cell(text, high - low)


def _setting(study: Study, variant: str) -> str:
    """Return the setting that validation chose, and whether it is at the edge of its axis."""
    text = selection.setting(study, variant) or DASH
    is_at_edge = selection.settings_of(study, variant)["is_at_edge"].any()
    return f"{text} {notes.EDGE}" if is_at_edge else text


def _title(metric: str) -> str:
    """Return the label of a metric as the start of a title."""
    label = metrics.BY_NAME[metric].label
    return label[0].upper() + label[1:]


def _length_names(study: Study) -> list[str]:
    return [declared_tables.length_name(study, length) for length in study.lengths]


def _beyond_training(study: Study, variant: str, length: int, cell: Cell) -> Cell:
    """Add the arrow of a number beyond the training length, where training lengths differ."""
    row = study.by_name[variant]
    # With one training length, the headings have the arrows.
    if len(study.max_lengths) < 2 or cell.text == DASH:
        return cell
    if not row["finished"] or length <= row["max_length"]:
        return cell
    return dataclasses.replace(cell, text=f"→{cell.text}")


def _chance_levels(study: Study, metric: str, num_counts: int) -> list[list[Cell]]:
    rows = []
    levels = study.chance_levels.set_index(["task", "metric", "length"])["value"].to_dict()
    tasks = study.finished["task"].unique()
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
