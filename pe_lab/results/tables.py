"""The tables of a study: what extrapolates, numbers by length, contrasts, budgets, every seed, and
the tables of the analysis spec.

table.md is the page, table.csv every number unrounded, table.tex the same tables for a paper.
"""

import csv
import io
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pe_lab.results import compare, formats, pivot, selection, statistics, views
from pe_lab.results.formats import Table
from pe_lab.results.metrics import BITS, BITS_SLIDING, CHANCE_CORRECTED
from pe_lab.results.results import Results
from pe_lab.runs import record_rows


def write(results: Results, folder: Path) -> str:
    """Writes folder/table.md, table.csv and table.tex; returns the first table as text."""
    made = of(results) if results.finished else []
    (folder / "table.md").write_text(markdown(results, made), encoding="utf-8")
    (folder / "table.csv").write_text(as_csv(results), encoding="utf-8")
    (folder / "table.tex").write_text(latex(results, made), encoding="utf-8")
    return formats.markdown(made[0]) if made else f"no run has finished yet: {_counts(results)}"


def of(results: Results) -> list[Table]:
    """All tables of a study; the first is what it is looked at for first."""
    chosen = selection.chosen(results)
    metric = views.headline(results)
    made = [
        views.by_length(chosen, metric, views.centre(chosen), offset) for offset in results.offsets
    ]
    made += [] if results.has_text else [views.summary(chosen)]
    made += [views.tuning(results, chosen)] if results.spec.tuned else []
    made += [views.contrasts(results)] if results.spec.contrasts else []
    made += (
        [views.ranking(chosen)]
        if len({v.task for v in chosen.variants}) >= statistics.RANKS_FROM
        else []
    )
    made += [table for asked in results.spec.tables for table in pivot.tables(chosen, asked)]
    made += [views.budgets(chosen)]
    for offset in results.offsets:
        more = (BITS_SLIDING, "exact_match") if results.has_text else (CHANCE_CORRECTED,)
        made += [views.by_length(chosen, m, "mean", offset) for m in (metric, *more)]
        made.append(views.seeds(chosen, metric, offset))
    return made


def markdown(results: Results, made: Sequence[Table] | None = None) -> str:
    """The whole page; each sign is explained once."""
    made = of(results) if made is None and results.finished else made
    if not made:
        return f"# {results.name}\n\nNo run has finished yet: {_counts(results)}.\n"
    question = [results.spec.question] if results.spec.question else []
    notes = dict.fromkeys([_compared(results), *(note for table in made for note in table.notes)])
    parts = [
        f"# {results.name}: {views.NAMES[views.headline(results)].lower()} by length",
        *question,
        "\n".join(f"- {note}" for note in notes),
    ]
    for table in made:
        parts += [
            f"## {table.title}",
            *([table.caption] if table.caption else []),
            formats.markdown(table),
        ]
    return "\n\n".join(parts) + "\n"


def latex(results: Results, made: Sequence[Table] | None = None) -> str:
    r"""All tables, each with its caption and notes; for \input below \usepackage{booktabs,
    graphicx, longtable}.
    """
    made = of(results) if made is None and results.finished else made or ()
    return "\n".join(
        [
            f"% {results.name}: \\usepackage{{booktabs, graphicx, longtable}}",
            *map(formats.latex, made),
        ]
    )


def as_csv(results: Results) -> str:
    """One row a variant, offset, metric and length, unrounded, with every run; settings that were
    not chosen too.
    """
    names = (
        *((BITS, BITS_SLIDING) if results.has_text else ()),
        "exact_match",
        "token_accuracy",
        CHANCE_CORRECTED,
    )
    axes = list(dict.fromkeys(axis for v in results.variants for axis in v.labels))
    width = max((len(v.runs) for v in results.variants), default=0)
    chosen = {id(v.runs): v for v in selection.chosen(results).variants}
    header = [
        "variant",
        *axes,
        "chosen",
        "reveals_target_length",
        "saw_positions",
        "runs",
        "finished",
        "solved",
        "extrapolates",
        "known_outcomes",
    ]
    header += [
        "offset",
        "metric",
        "length",
        "mean",
        "sd",
        "median",
        "interquartile_mean",
        "low",
        "high",
        "interval",
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*header, *(f"run {i}" for i in range(width))])
    for v in results.variants:
        extrapolation = results.spec.extrapolation
        counts = compare.extrapolation_counts(v, extrapolation)
        lead = [
            v.name,
            *(v.labels.get(axis, "") for axis in axes),
            id(v.runs) in chosen,
            v.reveals_target_length,
        ]
        lead += [
            compare.saw_positions(results, v, extrapolation.point),
            len(v.runs),
            len(v.finished),
            v.solved,
            counts.extrapolating,
            counts.count,
        ]
        for offset, name, n in itertools.product(results.offsets, names, results.lengths):
            values = v.values(n, offset, name)
            if any(value is not None for value in values):
                writer.writerow(
                    [
                        *lead,
                        offset,
                        name,
                        n,
                        *_numbers(values),
                        *values,
                        *[None] * (width - len(values)),
                    ]
                )
    return text.getvalue()


def _numbers(values: Sequence[Any]) -> list[Any]:
    """Of some seeds: mean, sd, median, interquartile mean, interval and its kind."""
    known = [v for v in values if v is not None]
    found = statistics.centre(known)
    interval = found.interval if found else None
    ends = [interval.low, interval.high, interval.kind] if interval else [None, None, None]
    iqm = float(statistics.interquartile_mean(known))
    return [
        statistics.mean(known),
        statistics.deviation(known),
        statistics.median(known),
        iqm,
        *ends,
    ]


def _compared(results: Results) -> str:
    """What was compared, and how often."""
    variants, runs = (
        len(results.variants),
        len({r["run_id"] for v in results.variants for r in v.runs}),
    )
    counts = sorted({len(v.runs) for v in results.variants})
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    longest = ", ".join(map(str, results.max_lengths))
    told = (
        f"{variants} variant{'s' * (variants > 1)}, {each} run{'s' * (each != '1')} each, "
        f"{runs} in all"
    )
    missing = f" {_runs(results.missing)} no record yet." if results.missing else ""
    if changed := sum(map(record_rows.has_changed_rows, results.records)):
        missing += f" {_runs(changed)} rows that changed code measured."
    return f"{told}; lengths are in {results.length_name}, training ended at {longest}.{missing}"


def _counts(results: Results) -> str:
    statuses = [r["status"] for v in results.variants for r in v.runs]
    words = [f"{statuses.count(s)} {s}" for s in ("diverged", "failed") if s in statuses]
    return ", ".join([*words, f"{_runs(results.missing)} no record"])


def _runs(count: int) -> str:
    return f"{count} run has" if count == 1 else f"{count} runs have"
