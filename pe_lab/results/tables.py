"""All tables of a study, as table.md (a page), table.csv (every number) and table.tex (a paper)."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pe_lab.results import (
    comparable,
    compare,
    contrast_tables,
    declared_tables,
    formats,
    literature,
    metrics,
    notes,
    selection,
    setting_tables,
    significance,
    standard_tables,
    statistics,
    summary,
)
from pe_lab.results.formats import Table
from pe_lab.results.metrics import BITS, BITS_SLIDING, CHANCE_CORRECTED
from pe_lab.results.study import Study
from pe_lab.runs import files


def write(study: Study, folder: Path) -> str:
    """Write table.md, table.csv and table.tex; return the first table as text."""
    tables = of(study)
    files.write_text(folder / "table.md", markdown(study, tables))
    files.write_text(folder / "table.csv", as_csv(study))
    files.write_text(folder / "table.tex", latex(study, tables))
    if not tables:
        return f"no run has finished yet: {_counts(study)}"
    return formats.markdown(tables[0])


def of(study: Study) -> list[Table]:
    """Return all tables of a study; none before a run has finished.

    The first one is the most important.
    """
    if not study.is_finished:
        return []
    with_grids = selection.choose(study)
    chosen = with_grids.without_grids()
    metric = study.headline
    show = standard_tables.center(chosen)
    offsets = study.offsets
    tables = [standard_tables.by_length(chosen, metric, show, offset) for offset in offsets]
    if not study.has_text:
        tables.append(standard_tables.summary(chosen))
    if study.spec.tuned:
        tables += setting_tables.tables(study)
        tables.append(standard_tables.tuning(chosen))
    if study.spec.contrasts:
        tables.append(contrast_tables.contrasts(with_grids))
    if chosen.variants["task_name"].nunique() >= significance.RANKS_FROM:
        tables.append(contrast_tables.ranks(chosen))
    tables += literature.tables(chosen)
    # Only declared tables show the points of grids of overrides.
    for spec in declared_tables.specs(with_grids):
        tables += declared_tables.tables(with_grids, spec)
    tables.append(standard_tables.budgets(chosen))
    others = (BITS_SLIDING, "exact_match") if study.has_text else (CHANCE_CORRECTED,)
    for offset in offsets:
        for name in (metric, *others):
            tables.append(standard_tables.by_length(chosen, name, "mean", offset))
        tables.append(standard_tables.seeds(chosen, metric, offset))
    return tables


def markdown(study: Study, tables: Sequence[Table] | None = None) -> str:
    """Return the page of a study, on which each sign is explained once."""
    tables = of(study) if tables is None else tables
    if not tables:
        return f"# {study.name}\n\nNo run has finished yet: {_counts(study)}.\n"
    of_tables = itertools.chain(*(table.notes for table in tables))
    all_notes = dict.fromkeys([_size(study), *of_tables])  # each one once
    parts = [
        f"# {study.name}: {metrics.BY_NAME[study.headline].label} by length",
        study.spec.question,
        "\n".join(f"- {note}" for note in all_notes),
    ]
    for table in tables:
        parts += [f"## {table.title}", table.caption, formats.markdown(table)]
    page = "\n\n".join(part for part in parts if part) + "\n"
    return formats.without_markup(page)


def latex(study: Study, tables: Sequence[Table] | None = None) -> str:
    r"""Return all tables for \input, with captions and notes.

    They need \usepackage{booktabs, graphicx, longtable}.
    """
    tables = of(study) if tables is None else tables
    packages = f"% {study.name}: \\usepackage{{booktabs, graphicx, longtable}}"
    return "\n".join([packages, *(formats.latex(table, study.name) for table in tables)])


def as_csv(study: Study) -> str:
    """Return one row for each variant, offset, metric and length, with the value of every run.

    Numbers are not rounded. Settings that were not chosen have rows too.
    """
    names = ["exact_match", "token_accuracy", CHANCE_CORRECTED]
    if study.has_text:
        names = [BITS, BITS_SLIDING, *names]
    values = {name: summary.by_point(study, name) for name in names}
    written = []
    for variant in study.by_name:
        of_variant = _csv_columns(study, variant)
        for offset, name, length in itertools.product(study.offsets, names, study.lengths):
            of_point = values[name].get((variant, offset, length))
            if of_point is None:
                continue
            row = {**of_variant, "offset": offset, "metric": name, "length": length}
            row |= _statistics(of_point)
            row |= {f"run {i}": value for i, value in enumerate(of_point)}
            written.append(row)
    frame = pd.DataFrame(written, dtype=object)
    # A variant without any number may have the most runs.
    most_runs = study.variants["runs"].max()
    runs = [f"run {i}" for i in range(most_runs)]
    frame = frame.reindex(columns=frame.columns.union(runs, sort=False))
    return formats.csv_text(frame)


def _csv_columns(study: Study, variant: str) -> dict[str, object]:
    row = study.by_name[variant]
    counts = compare.extrapolation_counts(study, variant)
    all_labels = itertools.chain(*(study.labels(name) for name in study.by_name))
    labels = study.labels(variant)
    point = study.spec.extrapolation.point
    return {
        "variant": variant,
        **{axis: labels.get(axis, "") for axis in dict.fromkeys(all_labels)},
        "chosen": bool(study.cases_of(variant)["chosen"].all()),
        "reveals_target_length": row["reveals_target_length"],
        "saw_positions": comparable.saw_positions(study, variant, point),
        "runs": row["runs"],
        "finished": row["finished"],
        "solved": row["solved"],
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


def _size(study: Study) -> str:
    """Return the numbers of variants and runs in words."""
    settings = study.without_grids()
    counts = settings.variants["runs"].tolist()
    num_variants = len(selection.choose(settings).variants)
    variants = "1 variant" if num_variants == 1 else f"{num_variants} variants"
    if num_variants < len(counts):
        variants += f" with {len(counts)} settings"
    lengths = ", ".join(map(str, study.max_lengths))
    runs = study.cases.drop_duplicates("run")
    sentence = (
        f"{variants}, {notes.listed(counts, 'run')} each, "
        f"{len(runs)} in all; lengths are in {study.length_name}, training ended at "
        f"{lengths}."
    )
    if study.missing:
        sentence += f" {_runs(study.missing)} no record yet."
    changed = int(runs["has_changed_rows"].sum())
    if changed:
        sentence += f" {_runs(changed)} rows that changed code measured."
    return sentence


def _counts(study: Study) -> str:
    parts = []
    for status in ("diverged", "failed"):
        count = study.variants[status].sum()
        if count:
            parts.append(f"{count} {status}")
    parts.append(f"{_runs(study.missing)} no record")
    return ", ".join(parts)


def _runs(count: int) -> str:
    return f"{count} run has" if count == 1 else f"{count} runs have"
