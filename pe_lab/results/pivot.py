"""The tables of the analysis spec in words, from their pivots (grids.py)."""

import itertools
from collections.abc import Sequence

from pe_lab.results import cells, comparable, metrics, notes
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.grids import Key, Point, TableGrid, grids, metric_at, one_a_task, title
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import SEPARATOR, MetricPoint, MetricSpec, TableSpec

SHOWN = {
    "median": "",
    "mean": "mean ± sd",
    "iqm": "interquartile mean",
    "seeds": "every seed",
    "best": "oracle: best setting and seed, by the test",
}
_CAPTIONS = {
    "median": "Median over seeds",
    "mean": "Mean and standard deviation over seeds",
    "iqm": "Interquartile mean over seeds",
    "seeds": "Every seed",
    "best": "Oracle: the best setting and seed, by the test itself",
}


def tables(results: Results, spec: TableSpec) -> list[Table]:
    """Return the tables of a spec.

    Args:
      results: of the variants that validation chose.

    Raises:
      UserError: rows and columns leave several variants in one cell.
    """
    return [_table(results, grid) for grid in grids(results, spec)]


def column(metric: MetricSpec, results: Results) -> str:
    """Return the heading of a metric."""
    if metric.label:
        return metric.label
    entry = metrics.BY_NAME[metric.name]
    words = entry.label
    if entry.by_length:
        words += f" {cells.point_of(results, metric)}"
    elif metric.point.offset:
        words += f", {metric.point}"
    summary = SHOWN[metric.show]
    if summary and entry.style != "count":  # a count is no summary over seeds
        words += f", {summary}"
    return words


def length_name(results: Results, length: int) -> str:
    """Return the heading of a length.

    It has an arrow beyond the training length, if this is the same for all variants, and the sign
    of repeated inputs.
    """
    text = str(length)
    if len(results.max_lengths) == 1 and length > results.max_lengths[0]:
        text = f"→{text}"
    if length in results.repeated_lengths:
        text += notes.REPEATED
    return text


def _table(results: Results, grid: TableGrid) -> Table:
    spec = grid.spec
    if spec.measures:
        header = [column(metric, results) for metric in spec.measures]
    else:
        header = [heading(results, spec.columns, key) for key in grid.columns]
    body = [_row(results, grid, row) for row in grid.rows]
    parts = [name_of(results, spec)]
    for dimension, label in zip(spec.each, grid.kind, strict=True):
        parts.append(_in_title(dimension, label))
    variants = [point.variant for point in grid.points]
    return Table(
        ", ".join(parts),
        _caption(spec),
        (title(spec.rows), *header),
        tuple(body),
        _notes(results, spec, variants, body),
    )


def name_of(results: Results, spec: TableSpec) -> str:
    """Return the title of a table, or one made from its content."""
    if spec.title or spec.measures:
        return spec.title or f"By {title(spec.rows)}"
    dimensions = [name for name in (*spec.rows, *spec.columns) if name != "variant"]
    by = " and ".join(title([dimension]) for dimension in dimensions)
    label = metrics.BY_NAME[spec.metric.name].label
    measured = f"{label} {spec.metric.point}".strip()
    # str.capitalize would write L90 of a label in small letters.
    return f"{measured[0].upper()}{measured[1:]} by {by}"


def _row(results: Results, grid: TableGrid, row: Key) -> tuple[Cell, ...]:
    spec = grid.spec
    of_columns = [grid.at(row, key) for key in grid.columns]
    points = list(itertools.chain(*of_columns))
    if spec.measures:
        body = [_cell(results, spec, points, metric) for metric in spec.measures]
    else:
        body = [_cell(results, spec, of_column, spec.metric) for of_column in of_columns]
    parts = [str(part) for part in row if part != ""]
    label = SEPARATOR.join(parts) or DASH
    reveals = any(point.variant.reveals_target_length for point in points)
    if reveals and _is_one_variant_a_row(spec):
        label += f" {notes.REVEALS}"
    return (Cell(label), *body)


def _cell(results: Results, spec: TableSpec, points: list[Point], metric: MetricSpec) -> Cell:
    """The cell of one variant, or of one for each task, with its signs."""
    variants = one_a_task(spec, points)
    if not variants:
        return Cell(DASH)
    at_point = metric_at(spec, points[0], metric)
    cell = cells.measure(results, variants, at_point)
    if cell.text == DASH:
        return cell
    text = cell.text + signs(results, spec, variants, at_point)
    return Cell(text, cell.value)


def signs(
    results: Results, spec: TableSpec, variants: Sequence[Variant], metric: MetricSpec
) -> str:
    """Return the signs of a number.

    They mark variants that reveal the target length, that saw the positions of the test in
    training, whose test inputs training can draw, and that no seed solved.

    Args:
      metric: at the point of the number.
    """
    point = cells.point_of(results, metric)
    text = ""
    reveals = any(variant.reveals_target_length for variant in variants)
    if reveals and not _is_one_variant_a_row(spec):
        text += notes.REVEALS
    if point is not None:
        if any(comparable.saw_positions(results, variant, point) for variant in variants):
            text += notes.SEEN
        # The heading of a length has the sign of repeated inputs itself.
        if "length" not in spec.columns and _is_repeated(variants, point):
            text += notes.REPEATED
    of_training = metrics.BY_NAME[metric.name].of_training
    counts_solved = any(measure.name == "solved" for measure in spec.measures)
    if of_training or counts_solved:
        return text
    has_runs = any(variant.runs for variant in variants)
    if has_runs and all(variant.is_unsolved for variant in variants):
        text += "*"
    return text


def _is_repeated(variants: Sequence[Variant], point: MetricPoint) -> bool:
    """Return whether training can draw some of the test inputs at a point."""
    for variant in variants:
        if point.lengths is None:
            is_repeated = point.length_for(variant.max_length) in variant.repeated_lengths
        else:
            first, last = point.lengths
            is_repeated = any(first <= length <= last for length in variant.repeated_lengths)
        if is_repeated:
            return True
    return False


def _is_one_variant_a_row(spec: TableSpec) -> bool:
    """Return whether a row is of one variant, so that its name has the sign and not each number."""
    return spec.rows == ("variant",) or bool(spec.measures)


def heading(results: Results, dimensions: Sequence[str], key: Key) -> str:
    """Return the heading of a column."""
    words = []
    for dimension, label in zip(dimensions, key, strict=True):
        if dimension == "length":
            words.append(length_name(results, int(label)))
        elif dimension == "offset":
            words.append(f"+{label}")
        else:
            words.append(str(label) or DASH)
    return ", ".join(words) or "all"


def _in_title(dimension: str, label: str | int) -> str:
    if dimension == "offset":
        return f"positions shifted by {label}"
    if dimension == "length":
        return f"length {label}"
    return str(label)


def _caption(spec: TableSpec) -> str:
    is_count = metrics.BY_NAME[spec.metric.name].style == "count"
    if spec.measures or is_count:
        return spec.note
    return f"{_CAPTIONS[spec.metric.show]}. {spec.note}".strip()


def _notes(
    results: Results,
    spec: TableSpec,
    variants: Sequence[Variant],
    body: Sequence[Sequence[Cell]],
) -> tuple[str, ...]:
    texts = [cell.text for row in body for cell in row]
    seeds = [len(variant.finished) for variant in variants]
    of_table: list[str] = []
    styles = [metrics.BY_NAME[metric.name].style for metric in spec.metrics]
    # Counts and first steps have intervals of their own.
    summaries = set()
    for metric, style in zip(spec.metrics, styles, strict=True):
        if style not in ("count", "first_step"):
            summaries.add(metric.show)
    for show in ("median", "iqm"):
        if show in summaries:
            of_table.append(notes.intervals(seeds, show))
    if any(metric.name == "extrapolates" for metric in spec.metrics):
        of_table += notes.extrapolation(results, seeds)
    # A lone star is a label, not the sign behind a number.
    if any(len(text) > 1 and text.endswith("*") for text in texts):
        of_table.append(notes.NOT_SOLVED)
    if "first_step" in styles:
        of_table.append(notes.FIRST_STEPS)
    if "best" in summaries:
        of_table.append(notes.oracle(results))
    joined = " ".join(texts)
    for sign, explanation in notes.SIGNS.items():
        if sign in joined or _is_in_header(sign, results, spec):
            of_table.append(explanation)
    return tuple(note for note in of_table if note)


def _is_in_header(sign: str, results: Results, spec: TableSpec) -> bool:
    if sign == notes.REPEATED:
        return "length" in spec.columns and bool(results.repeated_lengths)
    by_length = "length" in (*spec.rows, *spec.columns)
    if sign != "→" or not by_length or len(results.max_lengths) != 1:
        return False
    return results.lengths[-1] > results.max_lengths[0]
