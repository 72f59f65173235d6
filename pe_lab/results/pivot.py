"""A table of the analysis spec in words: rows, columns and one table for each value of what is left
(grids.py).
"""

from collections.abc import Sequence
from typing import Any

from pe_lab.results import cells, compare, metrics
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.grids import Grid, Point, grids, metric_at, one_a_task, title
from pe_lab.results.results import Results, Variant
from pe_lab.runs import analysis_spec
from pe_lab.runs.analysis_spec import BY_LENGTH, Metric
from pe_lab.runs.labels import agrees

WORDS = {
    "extrapolates": "seeds that extrapolate",
    "every_seed": "each seed",
    "in_distribution": "up to training length",
    "trained_length": "at training length",
    "in_distribution_loss": "validation loss",
    "auc": "area, 1× to 2×",
    "log_auc": "log area, 1× to 2×",
    "flops": "FLOPs",
    "tied": "tied settings",
    "retention": "kept at 2×",
    "exact_match": "exact match",
    "token_accuracy": "token accuracy",
    metrics.CHANCE_CORRECTED: "token accuracy over the chance level",
    metrics.BITS: "bits a token",
    metrics.BITS_SLIDING: "bits a token, second half of each window",
}
_OF_TRAINING = ("solved", "seeds", "chosen", "steps", "flops", "parameters")  # and not of a test
SHOWN = {
    "median": "",
    "mean": "mean ± sd",
    "iqm": "interquartile mean",
    "seeds": "every seed",
    "best": "oracle: best setting and seed, by the test",
}


def tables(results: Results, asked: analysis_spec.TableSpec) -> list[Table]:
    """The tables of a description.

    Args:
      results: after selection.

    Raises:
      UserError: rows and columns leave several variants in one cell.
    """
    return [_table(results, grid) for grid in grids(results, asked)]


def column(metric: Metric, results: Results) -> str:
    """The heading of a metric."""
    words = WORDS.get(metric.name, metric.name)
    if metric.name in BY_LENGTH or metric.name in ("every_seed", "tied"):
        words = f"{words} {cells.point_of(results, metric)}"
    elif metric.point.offset:
        words = f"{words}, {metric.point}"
    shown = SHOWN[metric.show] if metric.name not in analysis_spec.COUNTS else ""
    return metric.label or (f"{words}, {shown}" if shown else words)


def length_name(results: Results, length: int) -> str:
    """With an arrow beyond training, if all variants were trained equally long; with the sign of
    repeated inputs.
    """
    beyond = len(results.max_lengths) == 1 and length > results.max_lengths[0]
    repeated = length in results.repeated_lengths
    return f"{'→' * beyond}{length}{cells.REPEATED * repeated}"


def _table(results: Results, grid: Grid) -> Table:
    asked = grid.asked
    body = [_row(results, asked, row, [grid.at(row, c) for c in grid.columns]) for row in grid.rows]
    heads = [column(m, results) for m in asked.measures] or [
        heading(results, asked.columns, c) for c in grid.columns
    ]
    header = [title(asked.rows), *heads, *([asked.published.source] if asked.published else [])]
    words = [_said(d, value) for d, value in zip(asked.each, grid.kind, strict=True)]
    used = [p.variant for p in grid.points]
    return Table(
        ", ".join([name_of(results, asked), *words]),
        _caption(asked),
        tuple(header),
        tuple(body),
        _notes(results, asked, used, body),
    )


def name_of(results: Results, asked: analysis_spec.TableSpec) -> str:
    """Its title, or one from what it shows."""
    if asked.title or asked.measures:
        return asked.title or f"By {title(asked.rows)}"
    words = WORDS.get(asked.metric.name, asked.metric.name)
    by = " and ".join(title([d]) for d in (*asked.rows, *asked.columns) if d != "variant")
    point = f" {asked.metric.point}" if str(asked.metric.point) else ""
    return f"{words[0].upper()}{words[1:]}{point} by {by}"


def _row(
    results: Results, asked: analysis_spec.TableSpec, row: tuple[Any, ...], found: list[list[Point]]
) -> tuple[Cell, ...]:
    variants = list({p.variant.name: p.variant for points in found for p in points}.values())
    label = " · ".join(filter(None, map(str, row))) or DASH
    if asked.measures:
        points = [p for points in found for p in points]
        body = [_cell(results, asked, points, m) for m in asked.measures]
    else:
        body = [_cell(results, asked, points, asked.metric) for points in found]
    reveals = _reveals_in_rows(asked) and any(v.reveals_target_length for v in variants)
    first = Cell(f"{label} {cells.REVEALS}" if reveals else label)
    return (first, *body, *([_figure(asked.published, label, variants)] if asked.published else []))


def _cell(
    results: Results, asked: analysis_spec.TableSpec, points: list[Point], metric: Metric
) -> Cell:
    """Of one variant, or of one for each task; with its signs."""
    variants = one_a_task(asked, points)
    if not variants:
        return Cell(DASH)
    at = metric_at(asked, points[0], metric)
    found = cells.measure(results, variants, at)
    return (
        Cell(f"{found.text}{signs(results, asked, variants, at)}", found.value)
        if found.text != DASH
        else found
    )


def signs(
    results: Results, asked: analysis_spec.TableSpec, variants: Sequence[Variant], metric: Metric
) -> str:
    """What a number must be read with: that the target length is revealed, that training saw
    the positions, and that no seed solved the training lengths.

    Args:
      metric: at the point of the number.
    """
    point = cells.point_of(results, metric)
    repeated = (
        "length" not in asked.columns
        and point is not None
        and _is_repeated(results, variants, point)
    )
    reveals = not _reveals_in_rows(asked) and any(v.reveals_target_length for v in variants)
    seen = point is not None and any(compare.saw_positions(results, v, point) for v in variants)
    unsolved = (
        not any(v.solved for v in variants)
        and any(v.runs for v in variants)
        and _misleads_unsolved(asked, metric)
    )
    return cells.REVEALS * reveals + cells.SEEN * seen + cells.REPEATED * repeated + "*" * unsolved


def _is_repeated(
    results: Results, variants: Sequence[Variant], point: analysis_spec.MetricPoint
) -> bool:
    """Whether training can draw some of the test inputs at a point."""
    first, last = point.lengths or (0, 0)
    lengths = {n for n in results.lengths if first <= n <= last}
    if point.lengths is None:
        own = {point.length_for(variant.max_length) for variant in variants}
        lengths = {length for length in own if length is not None}
    return bool(lengths & results.repeated_lengths)


def _reveals_in_rows(asked: analysis_spec.TableSpec) -> bool:
    """Whether all of a row is of one variant, whose name then has the sign."""
    return asked.rows == ("variant",) or bool(asked.measures)


def _misleads_unsolved(asked: analysis_spec.TableSpec, metric: Metric) -> bool:
    """Whether a number of an unsolved variant would mislead: of a test, in a table that does not
    count the solved seeds.
    """
    return metric.name not in _OF_TRAINING and "solved" not in [m.name for m in asked.measures]


def _figure(published: analysis_spec.Published, name: str, variants: Sequence[Variant]) -> Cell:
    """A paper's figure, beside runs of its full protocol alone."""
    value = published.figures.get(name)
    runs = [r for v in variants for r in v.runs]
    if value is None or not runs or not all(agrees(published.protocol, r["config"]) for r in runs):
        return Cell(DASH)
    return Cell(cells.number(value), value)


def heading(results: Results, dimensions: Sequence[str], key: tuple[Any, ...]) -> str:
    """Of a column."""
    return (
        ", ".join(_words(results, d, value) for d, value in zip(dimensions, key, strict=True))
        or "all"
    )


def _words(results: Results, dimension: str, value: Any) -> str:
    if dimension == "length":
        return length_name(results, value)
    return f"+{value}" if dimension == "offset" else str(value) or DASH


def _said(dimension: str, value: Any) -> str:
    if dimension == "offset":
        return f"positions shifted by {value}"
    return f"length {value}" if dimension == "length" else str(value)


def _caption(asked: analysis_spec.TableSpec) -> str:
    shown = {
        "median": "Median over seeds",
        "mean": "Mean and standard deviation over seeds",
        "iqm": "Interquartile mean over seeds",
        "seeds": "Every seed",
        "best": "Oracle: the best setting and seed, by the test itself",
    }
    over = (
        ""
        if asked.measures or asked.metric.name in analysis_spec.COUNTS
        else f"{shown[asked.metric.show]}. "
    )
    return f"{over}{asked.note}".strip()


def _notes(
    results: Results,
    asked: analysis_spec.TableSpec,
    variants: Sequence[Variant],
    body: Sequence[Sequence[Cell]],
) -> tuple[str, ...]:
    text = " ".join(cell.text for row in body for cell in row)
    counts = [len(v.finished) for v in variants]
    shown = {
        m.show for m in asked.measures or (asked.metric,) if m.name not in analysis_spec.COUNTS
    }
    notes = [cells.intervals_note(counts, show) for show in ("median", "iqm") if show in shown]
    if any(m.name == "extrapolates" for m in asked.measures or (asked.metric,)):
        notes += [
            f"*extrapolates*: runs that are {results.spec.extrapolation}; of the runs with a known "
            f"outcome.",
            cells.wilson_note(counts),
        ]
    if any(len(cell.text) > 1 and cell.text.endswith("*") for row in body for cell in row):
        notes.append(
            "*: no seed solved the training lengths; the number is no evidence about extrapolation."
        )
    if "best" in shown:
        notes.append(oracle_note(results))
    if asked.published:
        notes.append(
            f"{asked.published.source}: as published; beside runs of its full protocol alone."
        )
    return tuple(
        filter(
            None,
            [
                *notes,
                *(
                    words
                    for sign, words in cells.SIGNS.items()
                    if sign in text or _in_header(sign, results, asked)
                ),
            ],
        )
    )


def oracle_note(results: Results) -> str:
    return (
        f"Oracle: chosen by the test itself, as in {results.spec.oracle}; for comparison "
        f"with it alone."
    )


def _in_header(sign: str, results: Results, asked: analysis_spec.TableSpec) -> bool:
    if sign == cells.REPEATED:
        return "length" in asked.columns and bool(results.repeated_lengths)
    lengths = "length" in (*asked.rows, *asked.columns) and len(results.max_lengths) == 1
    return sign == "→" and lengths and results.lengths[-1] > results.max_lengths[0]
