"""The standard tables of a study: by length, summary, tuning, contrasts, ranks, budgets, seeds."""

from collections.abc import Sequence

from pe_lab.metrics.auc import AREA_TO
from pe_lab.results import cells, compare, measured, metrics, pivot, selection, statistics
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.metrics import BITS
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import MetricSpec

_EXACT = (
    "Exact match: every token of the answer, its end included, is right, on the same examples for "
    "every run. *solved* counts the runs "
    "whose mean exact match over the validation lengths reaches the task's threshold; "
    "where it is not all of them, longer "
    "lengths say little about extrapolation."
)
_FIRST_STEPS = ("steps_to_solve", "steps_to_extrapolate")
_SHOWN = {
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
    at_extrapolation = offset == results.spec.extrapolation.point.offset
    first = show != "mean" and not results.has_text and at_extrapolation
    counts = ["extrapolates", "solved"] if first else ["solved"]
    rows = []
    for variant in results.variants:
        row = [cells.name(results, variant)]
        row += [cells.measure(results, [variant], MetricSpec(name)) for name in counts]
        for length in results.lengths:
            cell = cells.center(
                [variant],
                lambda run, length=length: run.at(length, offset, metric),  # type: ignore[misc]
                show,
                metric,
            )
            row.append(_beyond_training(results, variant, length, cell))
        rows.append(row)
    if metric in ("exact_match", "token_accuracy"):
        rows += _chance_levels(results, metric, len(counts))
    notes = _extrapolation_notes(results) if first else []
    if show != "mean":
        notes.append(cells.intervals_note(_seeds(results), show))
    caption = _EXACT if first else metrics.BY_NAME[metric].caption
    name = f"{title(metric)} by length, {_SHOWN[show]} over seeds{_shift(offset)}"
    header = ["variant", *counts, *_length_names(results)]
    return noted(name, caption, header, rows, notes, beyond=True)


def seeds(results: Results, metric: str, offset: int = 0) -> Table:
    """One row for each run."""
    rows = []
    for variant in results.variants:
        for run in variant.measured:
            seed, data_seed = run.seed
            text = str(seed) if seed == data_seed else f"{seed}, data {data_seed}"
            row = [Cell(variant.name), Cell(text, seed), Cell(run.record["status"])]
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
    if max(_seeds(results), default=0) >= statistics.BOOTSTRAP_FROM:
        measures.append(MetricSpec("exact_match", point, "iqm", "interquartile mean"))
    measures.append(MetricSpec("exact_match", point, "mean", "mean ± sd"))
    measures += [MetricSpec(name) for name in ("in_distribution", "log_auc", "L90", "L99")]
    rows = []
    for variant in results.variants:
        values = [cells.measure(results, [variant], metric) for metric in measures]
        rows.append([cells.name(results, variant), *values])
    caption = (
        "Exact match there of each seed, and medians over seeds of: *up to training length*, mean "
        "exact match over the measured lengths "
        f"up to it; *log area*, mean exact match from once to {AREA_TO:g} times the "
        f"training length, over the logarithm of length; "
        "*L90* and *L99*, the longest measured length up to which exact match is at least 0.9 or "
        "0.99, smoothed to fall with length."
    )
    notes = ["≥: also at the longest length measured; <: not at the shortest."]
    summaries = {metric.show for metric in measures}
    for show in ("median", "iqm"):
        if show in summaries:
            notes.append(cells.intervals_note(_seeds(results), show))
    header = ["variant", *(pivot.column(metric, results) for metric in measures)]
    return noted(f"Exact match {point}", caption, header, rows, notes)


def tuning(results: Results, chosen: Results) -> Table:
    """The chosen setting of each variant, and the results of the others."""
    tuned, point = results.spec.tuned, results.spec.extrapolation.point
    metric = MetricSpec(headline(results), point)
    candidates = [candidate for variant in chosen.variants for candidate in variant.candidates]
    settings = list(dict.fromkeys(selection.setting(c, tuned) for c in candidates))
    rows = []
    for variant in chosen.variants:
        row = [cells.name(chosen, variant)]
        for name in ("chosen", "in_distribution_loss", "tied"):
            row.append(cells.measure(chosen, [variant], MetricSpec(name)))
        by_setting = {
            selection.setting(candidate, tuned): cells.measure(results, [candidate], metric)
            for candidate in variant.candidates
        }
        row += [by_setting.get(setting, Cell(DASH)) for setting in settings]
        if results.spec.oracle:
            row.append(cells.measure(chosen, [variant], MetricSpec(metric.name, point, "best")))
        rows.append(row)
    axes = " and ".join(tuned)
    caption = (
        f"For each variant the setting of {axes} with the least mean validation loss over seeds "
        f"is chosen, at lengths up to the training "
        f"length and never by the test. Under each setting: median {title(metric.name).lower()} "
        f"{point}. *tied settings*: the range of that "
        "over the settings with which as many seeds are solved, so that validation exact match "
        "does not tell them apart."
    )
    header = ["variant", "chosen", "validation loss", "tied settings", *settings]
    notes = []
    if results.spec.oracle:
        header.append(pivot.SHOWN["best"])
        notes.append(pivot.oracle_note(results))
    return noted(f"Choice of {axes}", caption, header, rows, notes)


def budgets(results: Results) -> Table:
    """Size, steps and FLOPs of a run. Seconds depend on the load of the machine."""
    trained = [variant for variant in results.variants if variant.override is None]
    names = ["parameters", "steps"]
    has_curves = [name for name in _FIRST_STEPS if _is_measured(trained, name)]
    names += [*has_curves, "flops"]
    rows = []
    for variant in trained:
        values = [cells.measure(results, [variant], MetricSpec(name)) for name in ("seeds", *names)]
        rows.append([Cell(variant.name), *values])
    tried = max((len(variant.candidates) for variant in results.variants), default=0)
    notes = []
    if tried:
        notes.append(
            f"Every variant was tuned with at most {tried} settings; a run of the chosen one is "
            f"counted here."
        )
    if has_curves:
        notes.append(pivot.FIRST_STEPS_NOTE)
    caption = "Medians over runs. FLOPs are those of unpadded examples."
    header = ["variant", "finished runs", *(metrics.BY_NAME[name].label for name in names)]
    return noted("Budget of a run", caption, header, rows, notes)


def _is_measured(variants: Sequence[Variant], name: str) -> bool:
    runs = [run for variant in variants for run in variant.measured]
    return any(measured.value(run, MetricSpec(name)) is not None for run in runs)


def _length_names(results: Results) -> list[str]:
    return [pivot.length_name(results, length) for length in results.lengths]


def _beyond_training(results: Results, variant: Variant, length: int, cell: Cell) -> Cell:
    """Add the arrow of a number beyond the training length, where training lengths differ."""
    is_beyond = bool(variant.finished) and length > variant.max_length
    if len(results.max_lengths) > 1 and is_beyond and cell.text != DASH:
        return Cell(f"→{cell.text}", cell.value)
    return cell


def _chance_levels(results: Results, metric: str, num_counts: int) -> list[list[Cell]]:
    rows = []
    for task in results.tasks:
        name = "chance level" if len(results.tasks) == 1 else f"chance level of {task}"
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
    notes: Sequence[str],
    *,
    beyond: bool = False,
) -> Table:
    """A table with the notes of all signs that it has.

    Args:
      beyond: an arrow in the header needs its note too.
    """
    text = " ".join(cell.text for row in rows for cell in row)
    heads = " ".join(header)
    signs = [words for sign, words in cells.SIGNS.items() if sign in text]
    if beyond and "→" not in text and "→" in heads:
        signs.append(cells.SIGNS["→"])
    if cells.REPEATED not in text and cells.REPEATED in heads:
        signs.append(cells.SIGNS[cells.REPEATED])
    all_notes = tuple(note for note in [*notes, *signs] if note)
    return Table(title, caption, tuple(header), tuple(map(tuple, rows)), all_notes)


def _seeds(results: Results) -> list[int]:
    """Return the numbers of finished runs of the variants that have any."""
    return [len(variant.finished) for variant in results.variants if variant.finished]


def _extrapolation_notes(results: Results) -> list[str]:
    criterion = results.spec.extrapolation
    counts = [compare.extrapolation_counts(v, criterion).count for v in results.variants]
    return pivot.extrapolation_notes(results, counts)


def _shift(offset: int) -> str:
    return f", positions shifted by {offset}" if offset else ""
