"""All tables of a study, as table.md (a page), table.csv (every number) and table.tex (a paper)."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pe_lab.results import (
    comparable,
    compare,
    contrast_tables,
    formats,
    grids,
    literature,
    metrics,
    notes,
    pivot,
    selection,
    significance,
    statistics,
    variant_names,
    views,
)
from pe_lab.results.formats import Table
from pe_lab.results.metrics import BITS, BITS_SLIDING, CHANCE_CORRECTED
from pe_lab.results.results import Results, Variant
from pe_lab.runs import files, record_rows


def write(results: Results, folder: Path) -> str:
    """Write table.md, table.csv and table.tex; return the first table as text."""
    tables = of(results) if results.finished else []
    files.write_text(folder / "table.md", markdown(results, tables))
    files.write_text(folder / "table.csv", as_csv(results))
    files.write_text(folder / "table.tex", latex(results, tables))
    if not tables:
        return f"no run has finished yet: {_counts(results)}"
    return formats.markdown(tables[0])


def of(results: Results) -> list[Table]:
    """Return all tables of a study. The first one is the most important."""
    with_grids = selection.chosen(results)
    chosen = with_grids.without_grids()
    spec = results.spec
    metric = views.headline(results)
    show = views.center(chosen)
    tables = [views.by_length(chosen, metric, show, offset) for offset in results.offsets]
    if not results.has_text:
        tables.append(views.summary(chosen))
    if spec.tuned:
        tables.append(views.tuning(results, chosen))
    if spec.contrasts:
        tables.append(contrast_tables.contrasts(results))
    num_tasks = len({variant.task for variant in chosen.variants})
    if num_tasks >= significance.RANKS_FROM:
        tables.append(contrast_tables.ranks(chosen))
    tables += literature.tables(chosen)
    # Only declared tables show the points of grids of overrides.
    for table in grids.specs(with_grids):
        tables += pivot.tables(with_grids, table)
    tables.append(views.budgets(chosen))
    others = (BITS_SLIDING, "exact_match") if results.has_text else (CHANCE_CORRECTED,)
    for offset in results.offsets:
        for name in (metric, *others):
            tables.append(views.by_length(chosen, name, "mean", offset))
        tables.append(views.seeds(chosen, metric, offset))
    return tables


def markdown(results: Results, tables: Sequence[Table] | None = None) -> str:
    """Return the page of a study, on which each sign is explained once."""
    if tables is None:
        tables = of(results) if results.finished else []
    if not tables:
        return f"# {results.name}\n\nNo run has finished yet: {_counts(results)}.\n"
    of_tables = itertools.chain(*(table.notes for table in tables))
    all_notes = dict.fromkeys([_size(results), *of_tables])  # each one once
    headline = metrics.BY_NAME[views.headline(results)].label
    parts = [
        f"# {results.name}: {headline} by length",
        results.spec.question,
        "\n".join(f"- {note}" for note in all_notes),
    ]
    for table in tables:
        parts += [f"## {table.title}", table.caption, formats.markdown(table)]
    page = "\n\n".join(part for part in parts if part) + "\n"
    return formats.without_markup(page)


def latex(results: Results, tables: Sequence[Table] | None = None) -> str:
    r"""Return all tables for \input, with captions and notes.

    They need \usepackage{booktabs, graphicx, longtable}.
    """
    if tables is None:
        tables = of(results) if results.finished else []
    packages = f"% {results.name}: \\usepackage{{booktabs, graphicx, longtable}}"
    return "\n".join([packages, *(formats.latex(table, results.name) for table in tables)])


def as_csv(results: Results) -> str:
    """Return one row for each variant, offset, metric and length, with the value of every run.

    Numbers are not rounded. Settings that were not chosen have rows too.
    """
    names = ["exact_match", "token_accuracy", CHANCE_CORRECTED]
    if results.has_text:
        names = [BITS, BITS_SLIDING, *names]
    # A chosen variant has another name, but the runs of the setting.
    chosen = [variant.runs for variant in selection.chosen(results).variants]
    rows = []
    for variant in results.variants:
        of_variant = _csv_columns(results, variant, is_chosen=variant.runs in chosen)
        for offset, name, length in itertools.product(results.offsets, names, results.lengths):
            values = variant.values(length, offset, name)
            if all(value is None for value in values):
                continue
            row = {**of_variant, "offset": offset, "metric": name, "length": length}
            row |= _statistics(values)
            row |= {f"run {i}": value for i, value in enumerate(values)}
            rows.append(row)
    frame = pd.DataFrame(rows, dtype=object)
    # A variant without any number may have the most runs.
    most_runs = max((len(variant.runs) for variant in results.variants), default=0)
    runs = [f"run {i}" for i in range(most_runs)]
    frame = frame.reindex(columns=frame.columns.union(runs, sort=False))
    return formats.csv_text(frame)


def _csv_columns(results: Results, variant: Variant, *, is_chosen: bool) -> dict[str, object]:
    criterion = results.spec.extrapolation
    counts = compare.extrapolation_counts(variant, criterion)
    axes = variant_names.axes_of([variant.labels for variant in results.variants])
    labels = {axis: variant.labels.get(axis, "") for axis in axes}
    return {
        "variant": variant.name,
        **labels,
        "chosen": is_chosen,
        "reveals_target_length": variant.reveals_target_length,
        "saw_positions": comparable.saw_positions(results, variant, criterion.point),
        "runs": len(variant.runs),
        "finished": len(variant.finished),
        "solved": variant.solved,
        "extrapolates": counts.extrapolating,
        "known_outcomes": counts.count,
    }


def _statistics(values: Sequence[float | None]) -> dict[str, object]:
    known = [value for value in values if value is not None]
    center = statistics.center(known)
    interval = center.interval if center else None
    return {
        "mean": statistics.mean(known),
        "sd": statistics.deviation(known),
        "median": statistics.median(known),
        "interquartile_mean": float(statistics.interquartile_mean(known)),
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "interval": interval.kind if interval else None,
    }


def _size(results: Results) -> str:
    """Return the numbers of variants and runs in words."""
    settings = results.without_grids()
    counts = [len(variant.runs) for variant in settings.variants]
    num_variants = len(selection.chosen(settings).variants)
    variants = "1 variant" if num_variants == 1 else f"{num_variants} variants"
    if num_variants < len(counts):
        variants += f" with {len(counts)} settings"
    lengths = ", ".join(map(str, results.max_lengths))
    sentence = (
        f"{variants}, {notes.listed(counts, 'run')} each, "
        f"{len(results.records)} in all; lengths are in {results.length_name}, training ended at "
        f"{lengths}."
    )
    if results.missing:
        sentence += f" {_runs(results.missing)} no record yet."
    changed = sum(map(record_rows.has_changed_rows, results.records))
    if changed:
        sentence += f" {_runs(changed)} rows that changed code measured."
    return sentence


def _counts(results: Results) -> str:
    statuses = [record["status"] for variant in results.variants for record in variant.runs]
    parts = []
    for status in ("diverged", "failed"):
        if status in statuses:
            parts.append(f"{statuses.count(status)} {status}")
    parts.append(f"{_runs(results.missing)} no record")
    return ", ".join(parts)


def _runs(count: int) -> str:
    return f"{count} run has" if count == 1 else f"{count} runs have"
