"""All tables of a study, as table.md (a page), table.csv (every number) and table.tex (a paper)."""

import importlib
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pe_lab import parts
from pe_lab.results import (
    cells,
    choice_table,
    comparable,
    compare,
    contrast_tables,
    declared_tables,
    formats,
    metrics,
    notes,
    ranking,
    selection,
    significance,
    standard_tables,
    statistics,
    summary,
    table_summaries,
    text_tables,
    variant_names,
)
from pe_lab.results.formats import Table
from pe_lab.results.latex import as_latex
from pe_lab.results.metrics import BITS, BITS_SLIDING, CHANCE_CORRECTED
from pe_lab.results.statistics import Array
from pe_lab.results.study import Study
from pe_lab.runs.system import files


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
    if not study.variants["finished"].any():
        return []
    with_grids = selection.choose(study)
    chosen = table_summaries.without_grids(with_grids)
    metric = study.headline
    show = standard_tables.center(chosen)
    offsets = study.offsets
    tables = [standard_tables.by_length(chosen, metric, show, offset) for offset in offsets]
    if study.is_of_text:
        tables.append(text_tables.summary(chosen))
    elif not study.has_text:
        tables.append(standard_tables.summary(chosen))
    if study.spec.tuned:
        tables += _of_all_settings(study)
        tables.append(choice_table.tuning(chosen))
    if study.spec.contrasts:
        tables.append(contrast_tables.contrasts(with_grids))
    if len(ranking.task_names(chosen)) >= significance.RANKS_FROM:
        tables.append(contrast_tables.ranks(chosen))
    if study.spec.literature:
        tables += contrast_tables.literature(chosen)
    # Only declared tables show the points of grids of overrides.
    for spec in table_summaries.specs(with_grids):
        tables += declared_tables.tables(with_grids, spec)
    tables.append(standard_tables.budgets(chosen))
    others: tuple[str, ...] = (CHANCE_CORRECTED,)
    if study.has_text:
        others = () if study.is_of_text else (BITS_SLIDING, "exact_match")
    for offset in offsets:
        for name in (metric, *others):
            tables.append(standard_tables.by_length(chosen, name, "mean", offset))
        tables.append(standard_tables.seeds(chosen, metric, offset))
    return tables


def _of_all_settings(study: Study) -> list[Table]:
    """Return the tables that parts of contrib add: the function `tables` of PART/tables/NAME.py."""
    modules = (parts.module("tables", name) for name in parts.names("tables"))
    added = (importlib.import_module(module).tables(study) for module in modules if module)
    return [table for of_module in added for table in of_module]


def markdown(study: Study, tables: Sequence[Table] | None = None) -> str:
    """Return the page of a study, on which each sign is explained once."""
    tables = of(study) if tables is None else tables
    if not tables:
        return f"# {study.name}\n\nNo run has finished yet: {_counts(study)}.\n"
    parts = [
        f"# {study.name}: {metrics.BY_NAME[study.headline].label} by length",
        study.spec.question,
        " ".join([*_sizes(study), "*Notes*, at the end, explains signs and intervals."]),
        *formats.sections(tables),
        "## Notes",
        formats.notes(tables),
    ]
    page = "\n\n".join(part for part in parts if part) + "\n"
    return formats.without_markup(page)


def latex(study: Study, tables: Sequence[Table] | None = None) -> str:
    r"""Return all tables for \input, with captions and notes.

    They need \usepackage{booktabs, graphicx, longtable}.
    """
    tables = of(study) if tables is None else tables
    packages = f"% {study.name}: \\usepackage{{booktabs, graphicx, longtable}}"
    return "\n".join([packages, *(as_latex(table, study.name) for table in tables)])


def as_csv(study: Study) -> str:
    """Return one row for each variant, offset, metric and length, with the value of every run.

    Numbers are not rounded. Settings that were not chosen have rows too.
    """
    names = ["exact_match", "token_accuracy", CHANCE_CORRECTED]
    if study.is_of_text:
        names = [study.headline]
    elif study.has_text:
        names = [BITS, BITS_SLIDING, *names]
    numbers = summary.by_point(study, names)
    points = numbers.index.to_frame(index=False)
    of_points = _statistics(numbers.to_numpy())
    values = numbers.reset_index(drop=True).add_prefix("run ")
    frame = points[["variant"]].merge(_csv_columns(study), on="variant")
    frame = pd.concat([frame, points.drop(columns="variant"), of_points, values], axis=1)
    return formats.csv_text(frame)


def _csv_columns(study: Study) -> pd.DataFrame:
    """Return the columns of each variant in table.csv."""
    labels = pd.DataFrame(
        [variant_names.labels(study, name) for name in study.by_name], study.variants.index
    )
    frame = labels.fillna("")
    chosen = study.cases.groupby("variant")["chosen"].all()
    frame["chosen"] = chosen.reindex(frame.index, fill_value=True)
    frame["reveals_target_length"] = study.variants["reveals_target_length"]
    point = study.spec.extrapolation.point
    saw = [comparable.saw_positions(study, name, point) for name in study.by_name]
    frame["saw_positions"] = saw
    for count in ("runs", "finished"):
        frame[count] = study.variants[count]
    if study.is_of_text:  # nothing to solve
        return frame.rename_axis("variant").reset_index()
    frame["solved"] = study.variants["solved"]
    counts = compare.extrapolation_counts(study)
    frame["extrapolates"] = [of_variant.extrapolating for of_variant in counts.values()]
    frame["known_outcomes"] = [of_variant.count for of_variant in counts.values()]
    return frame.rename_axis("variant").reset_index()


def _statistics(values: Array) -> pd.DataFrame:
    """Return the statistics of each row of numbers, among which NaN is no number."""
    parts = []
    for rows, known in cells.by_count(values):
        columns: dict[str, object] = {
            "mean": [statistics.mean(row) for row in known.tolist()],
            "sd": known.std(axis=1, ddof=1) if known.shape[1] > 1 else math.nan,
            "median": np.median(known, axis=1),
            "interquartile_mean": statistics.interquartile_mean(known),
        }
        intervals = [statistics.center_interval(row) for row in known.tolist()]
        for end, of_interval in (("low", "low"), ("high", "high"), ("interval", "kind")):
            columns[end] = [getattr(i, of_interval, None) for i in intervals]
        parts.append(pd.DataFrame(columns, index=rows))
    return pd.concat(parts).sort_index() if parts else pd.DataFrame()


def _sizes(study: Study) -> list[str]:
    """Return the numbers of variants and runs, and those of a text, in words."""
    settings = table_summaries.without_grids(study)
    counts = settings.variants["runs"].tolist()
    num_variants = len(selection.choose(settings).variants)
    variants = notes.listed([num_variants], "variant")
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
    return [sentence, text_tables.sentence(study)] if study.is_of_text else [sentence]


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
