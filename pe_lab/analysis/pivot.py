"""A declared table, from its description: rows, columns and one table for each value of what is left.

Every variant, at every length and offset, has a value on each dimension: its labels on the axes of the sweep, its name, the
length, the offset, what it was evaluated with. A cell holds what agrees with its row, its column and its table: one variant,
or one for each task, whose seeds are then pooled by task.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pe_lab import declaration
from pe_lab.analysis import cells, metrics
from pe_lab.analysis.formats import DASH, Cell, Table
from pe_lab.analysis.results import EVALUATED_WITH, Results, Variant
from pe_lab.declaration import BY_LENGTH, Metric, Place
from pe_lab.errors import UserError
from pe_lab.labels import agrees

AS_TRAINED = "as trained"
_NUMBERS = ("length", "offset")
WORDS = {
    "success": "seeds that succeed",
    "every_seed": "each seed", "in_distribution": "up to training length", "trained_length": "at training length",
    "in_distribution_loss": "validation loss", "auc": "area, 1× to 2×", "log_auc": "log area, 1× to 2×", "flops": "FLOPs",
    "tied": "tied settings", "retention": "kept at 2×",
    "exact_match": "exact match", "token_accuracy": "token accuracy", metrics.FLOOR_CORRECTED: "token accuracy over the floor",
    metrics.BITS: "bits a token", metrics.BITS_SLIDING: "bits a token, second half of each window",
}  # fmt: skip
SHOWN = {
    "median": "",
    "mean": "mean ± sd",
    "iqm": "interquartile mean",
    "seeds": "every seed",
    "best": "oracle: best setting and seed, by the test",
}


@dataclass(frozen=True)
class Point:
    """A variant at a length and an offset; length None where the table's metric is placed elsewhere."""

    variant: Variant
    length: int | None
    offset: int

    def on(self, dimension: str) -> Any:
        """Its value on a dimension."""
        if dimension == "variant":
            return self.variant.name
        if dimension in _NUMBERS:
            return self.length if dimension == "length" else self.offset
        return self.variant.labels.get(dimension, AS_TRAINED if dimension == EVALUATED_WITH else "")


def tables(results: Results, asked: declaration.Table) -> list[Table]:
    """The tables of a description.

    Args:
      results: after selection.

    Raises:
      UserError: rows and columns leave several variants in one cell.
    """
    points = [p for p in _points(results, asked) if all(str(p.on(d)) in labels for d, labels in asked.only.items())]
    kinds = _keys(points, asked.each)
    return [_table(results, asked, kind, [p for p in points if _key(p, asked.each) == kind]) for kind in kinds]


def column(metric: Metric, results: Results) -> str:
    """The heading of a metric."""
    words = WORDS.get(metric.name, metric.name)
    placed = metric.place if metric.place != Place() else results.declared.success.place
    if metric.name in BY_LENGTH or metric.name in ("every_seed", "tied"):
        words = f"{words} {placed}"
    shown = SHOWN[metric.show] if metric.name not in declaration.COUNTS else ""
    return metric.label or (f"{words}, {shown}" if shown else words)


def length_name(results: Results, length: int) -> str:
    """With an arrow beyond training, if all variants were trained equally long."""
    return f"→{length}" if len(results.max_lengths) == 1 and length > results.max_lengths[0] else f"{length}"


def _points(results: Results, asked: declaration.Table) -> list[Point]:
    dimensions = (*asked.rows, *asked.columns, *asked.each, *asked.only)
    lengths = results.lengths if "length" in dimensions else [None]
    offsets = results.offsets if "offset" in dimensions else [asked.metric.place.offset]
    return [Point(v, n, o) for v, o, n in itertools.product(results.variants, offsets, lengths)]


def _key(point: Point, dimensions: Sequence[str]) -> tuple[Any, ...]:
    return tuple(point.on(d) for d in dimensions)


def _keys(points: Sequence[Point], dimensions: Sequence[str]) -> list[tuple[Any, ...]]:
    """In the order of the sweep; numbers in their own."""
    found = dict.fromkeys(_key(p, dimensions) for p in points)
    order = [list(dict.fromkeys(key[i] for key in found)) for i in range(len(dimensions))]
    order = [sorted(values) if d in _NUMBERS else values for d, values in zip(dimensions, order, strict=True)]
    return sorted(found, key=lambda key: [values.index(value) for values, value in zip(order, key, strict=True)])


def _table(results: Results, asked: declaration.Table, kind: tuple[Any, ...], points: list[Point]) -> Table:
    rows, columns = _keys(points, asked.rows), _keys(points, asked.columns)
    by_place: dict[tuple[Any, Any], list[Point]] = {}
    for point in points:
        by_place.setdefault((_key(point, asked.rows), _key(point, asked.columns)), []).append(point)
    body = [_row(results, asked, row, [by_place.get((row, c), []) for c in columns]) for row in rows]
    heads = [column(m, results) for m in asked.measures] or [_heading(results, asked.columns, c) for c in columns]
    header = [_title(asked.rows), *heads, *([asked.published.source] if asked.published else [])]
    words = [_said(d, value) for d, value in zip(asked.each, kind, strict=True)]
    title = ", ".join([asked.title or _default_title(results, asked), *words])
    used = [p.variant for found in by_place.values() for p in found]
    return Table(title, _caption(asked), tuple(header), tuple(body), _notes(results, asked, used, body))


def _row(results: Results, asked: declaration.Table, row: tuple[Any, ...], found: list[list[Point]]) -> tuple[Cell, ...]:
    variants = list({p.variant.name: p.variant for points in found for p in points}.values())
    single = len(variants) == 1
    first = cells.name(results, variants[0]) if asked.rows == ("variant",) else Cell(" · ".join(filter(None, map(str, row))) or DASH)
    if asked.measures:
        of_one = _one_a_task(asked, [p for points in found for p in points])
        body = [cells.measure(results, of_one, m) for m in asked.measures]
    else:
        body = [_cell(results, asked, points, single and asked.rows == ("variant",)) for points in found]
    return (first, *body, *([_figure(asked.published, first.text, variants)] if asked.published else []))


def _cell(results: Results, asked: declaration.Table, points: list[Point], alone: bool) -> Cell:
    """Of one variant, or of one for each task; with its signs, unless the row has them already."""
    variants = _one_a_task(asked, points)
    if not variants:
        return Cell(DASH)
    metric, point = asked.metric, points[0]
    if point.length is not None:
        metric = Metric(metric.name, Place(length=point.length, offset=point.offset), metric.show)
    elif "offset" in (*asked.rows, *asked.columns, *asked.each):
        place = metric.place
        metric = Metric(metric.name, Place(place.at, place.length, place.lengths, point.offset), metric.show)
    found = cells.measure(results, variants, metric)
    if alone:
        return found
    signs = "".join(sign for sign in (cells.TOLD, cells.SEEN) if any(sign in cells.name(results, v).text[len(v.name) :] for v in variants))
    unlearnt = "*" if not any(v.learnt for v in variants) and any(v.runs for v in variants) else ""
    return Cell(f"{found.text}{signs}{unlearnt}", found.value) if found.text != DASH else found


def _one_a_task(asked: declaration.Table, points: list[Point]) -> list[Variant]:
    """The variants of a cell: one, or one for each task.

    Raises:
      UserError: there are more.
    """
    variants = list({p.variant.name: p.variant for p in points}.values())
    differ = [a for a in dict.fromkeys(a for v in variants for a in v.labels) if len({v.labels.get(a) for v in variants}) > 1]
    if len(variants) > 1 and differ != ["task"]:
        free = ", ".join(repr(a) for a in differ) or "'variant'"
        words = asked.title or f"rows {_title(asked.rows)}"
        raise UserError(
            f"analysis(): the table of {words} leaves several variants in one cell: name {free} too, among rows, columns, each or only."
        )
    return variants


def _figure(published: declaration.Published, name: str, variants: Sequence[Variant]) -> Cell:
    """A paper's figure, beside runs of its full protocol alone."""
    value = published.figures.get(name.rstrip(f" {cells.TOLD}{cells.SEEN}"))
    runs = [r for v in variants for r in v.runs]
    if value is None or not runs or not all(agrees(published.protocol, r["config"]) for r in runs):
        return Cell(DASH)
    return Cell(cells.number(value), value)


def _heading(results: Results, dimensions: Sequence[str], key: tuple[Any, ...]) -> str:
    return ", ".join(_words(results, d, value) for d, value in zip(dimensions, key, strict=True)) or "all"


def _words(results: Results, dimension: str, value: Any) -> str:
    if dimension == "length":
        return length_name(results, value)
    return f"+{value}" if dimension == "offset" else str(value) or DASH


def _said(dimension: str, value: Any) -> str:
    if dimension == "offset":
        return f"positions shifted by {value}"
    return f"length {value}" if dimension == "length" else str(value)


def _title(dimensions: Sequence[str]) -> str:
    return " · ".join(d.removeprefix("model.") for d in dimensions)


def _default_title(results: Results, asked: declaration.Table) -> str:
    if asked.measures:
        return f"By {_title(asked.rows)}"
    words = WORDS.get(asked.metric.name, asked.metric.name)
    by = " and ".join(d.removeprefix("model.") for d in (*asked.rows, *asked.columns) if d != "variant")
    place = f" {asked.metric.place}" if str(asked.metric.place) else ""
    return f"{words[0].upper()}{words[1:]}{place} by {by}"


def _caption(asked: declaration.Table) -> str:
    shown = {
        "median": "Median over seeds", "mean": "Mean and standard deviation over seeds", "iqm": "Interquartile mean over seeds",
        "seeds": "Every seed", "best": "Oracle: the best setting and seed, by the test itself",
    }  # fmt: skip
    over = "" if asked.measures or asked.metric.name in declaration.COUNTS else f"{shown[asked.metric.show]}. "
    return f"{over}{asked.note}".strip()


def _notes(results: Results, asked: declaration.Table, variants: Sequence[Variant], body: Sequence[Sequence[Cell]]) -> tuple[str, ...]:
    text = " ".join(cell.text for row in body for cell in row)
    counts = [len(v.finished) for v in variants]
    shown = {m.show for m in asked.measures or (asked.metric,) if m.name not in declaration.COUNTS}
    notes = [cells.intervals_note(counts, show) for show in ("median", "iqm") if show in shown]
    if any(m.name == "success" for m in asked.measures or (asked.metric,)):
        notes += [f"*succeed*: runs that have {results.declared.success}, of those of which it is known.", cells.wilson_note(counts)]
    if any(len(cell.text) > 1 and cell.text.endswith("*") for row in body for cell in row):
        notes.append("*: no seed has learnt the task; such a number says nothing about extrapolation.")
    if "best" in shown:
        notes.append(oracle_note(results))
    if asked.published:
        notes.append(f"{asked.published.source}: as published; beside runs of its full protocol alone.")
    return tuple(
        filter(None, [*notes, *(words for sign, words in cells.SIGNS.items() if sign in text or _in_header(sign, results, asked))])
    )


def oracle_note(results: Results) -> str:
    return f"Oracle: chosen by the test itself, as in {results.declared.oracle}; for comparison with it alone."


def _in_header(sign: str, results: Results, asked: declaration.Table) -> bool:
    lengths = "length" in (*asked.rows, *asked.columns) and len(results.max_lengths) == 1
    return sign == "→" and lengths and results.lengths[-1] > results.max_lengths[0]
