"""The standard tables of a study: by length, summary, tuning, contrasts, ranks, budgets, seeds."""

import dataclasses
import itertools
from collections.abc import Sequence

from pe_lab.metrics.auc import AREA_TO
from pe_lab.results import (
    cells,
    compare,
    measured,
    metrics,
    notes,
    pivot,
    selection,
    statistics,
)
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.metrics import BITS
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import MetricPoint, MetricSpec
from pe_lab.runs.labels import label

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


def headline(results: Results) -> str:
    """Return the name of a study's main metric."""
    return BITS if results.has_text else "exact_match"


def title(metric: str) -> str:
    """Return the label of a metric as the start of a title."""
    label = metrics.BY_NAME[metric].label
    return label[0].upper() + label[1:]


def center(results: Results) -> str:
    """Return the summary over seeds: iqm if every variant has ten seeds, else median."""
    fewest = min(_seeds(results), default=0)
    return "iqm" if fewest >= statistics.BOOTSTRAP_FROM else "median"


def by_length(results: Results, metric: str, show: str, offset: int = 0) -> Table:
    """A metric of each variant at each length, with the counts of solved runs.

    The first table of a study also has the counts of runs that extrapolate.
    """
    point = results.spec.extrapolation.point
    is_first = show != "mean" and not results.has_text and offset == point.offset
    counts = ["extrapolates", "solved"] if is_first else ["solved"]
    rows = []
    for variant in results.variants:
        row = [cells.name(results, variant)]
        row += [cells.measure(results, [variant], MetricSpec(name)) for name in counts]
        for length in results.lengths:
            at_length = MetricPoint(length=length, offset=offset)
            cell = cells.center([variant], MetricSpec(metric, at_length, show))
            row.append(_beyond_training(results, variant, length, cell))
        rows.append(row)
    if metric in ("exact_match", "token_accuracy"):
        rows += _chance_levels(results, metric, len(counts))
    of_table = []
    if is_first:
        criterion = results.spec.extrapolation
        outcomes = [compare.extrapolation_counts(v, criterion) for v in results.variants]
        num_known = [of_variant.count for of_variant in outcomes]
        of_table += notes.extrapolation(results, num_known)
    if show != "mean":
        of_table.append(notes.intervals(_seeds(results), show))
    caption = _EXACT if is_first else metrics.BY_NAME[metric].caption
    name = f"{title(metric)} by length, {_SUMMARIES[show]} over seeds{_shift(offset)}"
    header = ["variant", *counts, *_length_names(results)]
    return noted(name, caption, header, rows, of_table, beyond=True)


def seeds(results: Results, metric: str, offset: int = 0) -> Table:
    """One row for each run."""
    rows = []
    for variant in results.variants:
        for run in variant.measured:
            seed, data_seed = run.seed
            text = str(seed)
            if seed != data_seed:
                text += f", data {data_seed}"
            status = run.record["status"]
            row = [Cell(variant.name), Cell(text, seed), Cell(status)]
            for length in results.lengths:
                value = run.at(length, offset, metric)
                row.append(Cell(cells.number(value, metric), value))
            rows.append(row)
    name = f"{title(metric)} by length, every seed{_shift(offset)}"
    header = ["variant", "seed", "status", *_length_names(results)]
    return noted(name, "", header, rows, [], beyond=True)


def summary(results: Results) -> Table:
    """Exact match at the point of extrapolation, and numbers for the whole curve."""
    point = results.spec.extrapolation.point
    measures = [
        MetricSpec("every_seed", label="each seed"),
        MetricSpec("exact_match", point, label="median"),
    ]
    most_seeds = max(_seeds(results), default=0)
    if most_seeds >= statistics.BOOTSTRAP_FROM:
        measures.append(MetricSpec("exact_match", point, "iqm", "interquartile mean"))
    measures.append(MetricSpec("exact_match", point, "mean", "mean ± sd"))
    measures += [MetricSpec(name) for name in ("in_distribution", "log_auc", "L90", "L99")]
    rows = []
    for variant in results.variants:
        row = [cells.name(results, variant)]
        row += [cells.measure(results, [variant], metric) for metric in measures]
        rows.append(row)
    caption = (
        "Exact match there of each seed, and medians over seeds of: *up to training length*, mean "
        "exact match over the measured lengths "
        f"up to it; *log area*, mean exact match from once to {AREA_TO:g} times the "
        f"training length, over the logarithm of length; "
        "*L90* and *L99*, the longest measured length up to which exact match is at least 0.9 or "
        "0.99, smoothed to fall with length."
    )
    of_table = ["≥: also at the longest length measured; <: not at the shortest."]
    summaries = {metric.show for metric in measures}
    for show in ("median", "iqm"):
        if show in summaries:
            of_table.append(notes.intervals(_seeds(results), show))
    header = ["variant", *(pivot.column(metric, results) for metric in measures)]
    return noted(f"Exact match {point}", caption, header, rows, of_table)


def tuning(results: Results, chosen: Results) -> Table:
    """The chosen setting of each variant, and the results of the others."""
    tuned = results.spec.tuned
    point = results.spec.extrapolation.point
    metric = MetricSpec(headline(results), point)
    label = metrics.BY_NAME[metric.name].label
    # Variants may have been tuned over different settings.
    candidates = itertools.chain(*(variant.candidates for variant in chosen.variants))
    ordered = selection.in_order(candidates, tuned)
    settings = list(dict.fromkeys(selection.setting(candidate, tuned) for candidate in ordered))
    rows = []
    for variant in chosen.variants:
        # The loss that decided. Seeds that the chosen setting alone has are not in it.
        loss = selection.loss(selection.chosen_candidate(variant))
        row = [
            cells.name(chosen, variant),
            cells.measure(chosen, [variant], MetricSpec("chosen")),
            Cell(cells.number(loss, "in_distribution_loss"), loss),
            cells.measure(chosen, [variant], MetricSpec("tied")),
        ]
        by_setting = dict.fromkeys(settings, Cell(DASH))
        for candidate in variant.candidates:
            cell = cells.measure(results, [candidate], metric)
            by_setting[selection.setting(candidate, tuned)] = cell
        row += by_setting.values()
        if results.spec.oracle:
            best = dataclasses.replace(metric, show="best")
            row.append(cells.measure(chosen, [variant], best))
        rows.append(row)
    axes = " and ".join(tuned)
    caption = (
        f"For each variant, the setting of {axes} with the lowest *validation loss* is chosen: the "
        "mean over lengths up to the training length and over the seeds that all settings have. "
        f"The test is not read. Under each setting: median {label} {point}. *tied settings*: the "
        "range of these medians over the settings that solve as many seeds as the chosen one."
    )
    header = ["variant", "chosen", "validation loss", "tied settings", *settings]
    of_table = []
    if results.spec.oracle:
        header.append(pivot.SHOWN["best"])
        of_table.append(notes.oracle(results))
    return noted(f"Choice of {axes}", caption, header, rows, of_table)


def budgets(results: Results) -> Table:
    """Size, steps and FLOPs of a run. Seconds depend on the load of the machine."""
    runs = list(itertools.chain(*(variant.measured for variant in results.trained)))
    names = ["parameters", "steps"]
    # A study without curves has no first steps.
    first_steps = [name for name in _FIRST_STEPS if measured.values(runs, MetricSpec(name))]
    names += [*first_steps, "flops"]
    rows = []
    for variant in results.trained:
        row = [Cell(variant.name)]
        for name in ("seeds", *names):
            row.append(cells.measure(results, [variant], MetricSpec(name)))
        rows.append(row)
    num_settings = [len(variant.candidates) for variant in results.variants]
    most_settings = max(num_settings, default=0)
    of_table = []
    if most_settings:
        of_table.append(
            f"*Budget of a run* is the budget of the chosen setting. Up to {most_settings} "
            f"settings of each variant were trained."
        )
    if first_steps:
        of_table.append(notes.FIRST_STEPS)
    caption = "Medians over runs. FLOPs are those of unpadded examples."
    header = ["variant", "finished runs", *(metrics.BY_NAME[name].label for name in names)]
    return noted("Budget of a run", caption, header, rows, of_table)


def _length_names(results: Results) -> list[str]:
    return [pivot.length_name(results, length) for length in results.lengths]


def _beyond_training(results: Results, variant: Variant, length: int, cell: Cell) -> Cell:
    """Add the arrow of a number beyond the training length, where training lengths differ."""
    # With one training length, the headings have the arrows.
    if len(results.max_lengths) < 2 or cell.text == DASH:
        return cell
    if not variant.finished or length <= variant.max_length:
        return cell
    return Cell(f"→{cell.text}", cell.value)


def _chance_levels(results: Results, metric: str, num_counts: int) -> list[list[Cell]]:
    rows = []
    # The sweep may have a shorter label than the task with all of its arguments.
    short_labels = {}
    for variant in results.trained:
        for record in variant.finished:
            short_labels[label(record["config"]["task"])] = variant.task
    for task in results.tasks:
        name = "chance level"
        if len(results.tasks) > 1:
            name += f" of {short_labels[task]}"
        row = [Cell(f"{name} (sees no prompt)"), *[Cell()] * num_counts]
        for length in results.lengths:
            level = results.chance_level(length, metric, task)
            row.append(Cell(cells.number(level), level))
        rows.append(row)
    return rows


def noted(
    title: str,
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    before: Sequence[str],
    *,
    beyond: bool = False,
) -> Table:
    """A table with the notes of all signs that it has.

    Args:
      before: notes that come before the notes of the signs. Empty ones are left out.
      beyond: an arrow in the header needs its note too.
    """
    text = " ".join(cell.text for row in rows for cell in row)
    headings = " ".join(header)
    signs = [sign for sign in notes.SIGNS if sign in text]
    in_headings = ("→", notes.REPEATED) if beyond else (notes.REPEATED,)
    # A heading may have other signs as characters, such as the ± of a column.
    signs += [sign for sign in in_headings if sign in headings and sign not in signs]
    explanations = [notes.SIGNS[sign] for sign in signs]
    all_notes = tuple(note for note in [*before, *explanations] if note)
    return Table(title, caption, tuple(header), tuple(map(tuple, rows)), all_notes)


def _seeds(results: Results) -> list[int]:
    """Return the numbers of finished runs of the variants that have any."""
    return [len(variant.finished) for variant in results.variants if variant.finished]


def _shift(offset: int) -> str:
    return f", positions shifted by {offset}" if offset else ""
