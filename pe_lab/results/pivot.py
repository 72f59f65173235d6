"""The tables of the analysis spec in words, from their pivots (grids.py)."""

from collections.abc import Sequence

from pe_lab.results import cells, compare, metrics
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.grids import Key, Point, TableGrid, grids, metric_at, one_a_task, title
from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import MetricPoint, MetricSpec, TableSpec

SHOWN = {
    "median": "",
    "mean": "mean ± sd",
    "iqm": "interquartile mean",
    "seeds": "every seed",
    "best": "oracle: best setting and seed, by the test",
}
FIRST_STEPS_NOTE = (
    "*steps to solve*, *steps to extrapolate*: Kaplan–Meier median over runs of the first point of "
    "the curve that reaches the threshold; brackets, from five runs on, are 95 % intervals."
)
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
    entry = metrics.BY_NAME[metric.name]
    words = entry.label
    if entry.by_length:
        words = f"{words} {cells.point_of(results, metric)}"
    elif metric.point.offset:
        words = f"{words}, {metric.point}"
    summary = "" if entry.style == "count" else SHOWN[metric.show]
    if summary:
        words = f"{words}, {summary}"
    return metric.label or words


def length_name(results: Results, length: int) -> str:
    """Return the heading of a length.

    It has an arrow beyond the training length, if this is the same for all variants, and the sign
    of repeated inputs.
    """
    beyond = len(results.max_lengths) == 1 and length > results.max_lengths[0]
    repeated = length in results.repeated_lengths
    return f"{'→' * beyond}{length}{cells.REPEATED * repeated}"


def _table(results: Results, grid: TableGrid) -> Table:
    spec = grid.spec
    if spec.measures:
        header = [column(metric, results) for metric in spec.measures]
    else:
        header = [heading(results, spec.columns, key) for key in grid.columns]
    body = [_row(results, grid, row) for row in grid.rows]
    single = zip(spec.each, grid.kind, strict=True)
    words = [_in_title(dimension, label) for dimension, label in single]
    variants = [point.variant for point in grid.points]
    return Table(
        ", ".join([name_of(results, spec), *words]),
        _caption(spec),
        (title(spec.rows), *header),
        tuple(body),
        _notes(results, spec, variants, body),
    )


def name_of(results: Results, spec: TableSpec) -> str:
    """Return the title of a table, or one made from its content."""
    if spec.title or spec.measures:
        return spec.title or f"By {title(spec.rows)}"
    words = metrics.BY_NAME[spec.metric.name].label
    dimensions = [name for name in (*spec.rows, *spec.columns) if name != "variant"]
    by = " and ".join(title([dimension]) for dimension in dimensions)
    point = f" {spec.metric.point}" if str(spec.metric.point) else ""
    return f"{words[0].upper()}{words[1:]}{point} by {by}"


def _row(results: Results, grid: TableGrid, row: Key) -> tuple[Cell, ...]:
    spec = grid.spec
    of_columns = [grid.at(row, key) for key in grid.columns]
    points = [point for points in of_columns for point in points]
    variants = list({point.variant.name: point.variant for point in points}.values())
    if spec.measures:
        body = [_cell(results, spec, points, metric) for metric in spec.measures]
    else:
        body = [_cell(results, spec, points, spec.metric) for points in of_columns]
    label = " · ".join(str(part) for part in row if part != "") or DASH
    reveals = _is_one_variant_a_row(spec) and any(v.reveals_target_length for v in variants)
    return (Cell(f"{label} {cells.REVEALS}" if reveals else label), *body)


def _cell(results: Results, spec: TableSpec, points: list[Point], metric: MetricSpec) -> Cell:
    """The cell of one variant, or of one for each task, with its signs."""
    variants = one_a_task(spec, points)
    if not variants:
        return Cell(DASH)
    placed = metric_at(spec, points[0], metric)
    cell = cells.measure(results, variants, placed)
    if cell.text == DASH:
        return cell
    return Cell(cell.text + signs(results, spec, variants, placed), cell.value)


def signs(
    results: Results, spec: TableSpec, variants: Sequence[Variant], metric: MetricSpec
) -> str:
    """Return the signs of a number.

    They mark variants that reveal the target length, that saw the positions of the test in
    training, whose test inputs training can draw, and that no seed solved.

    Args:
      metric: at the point of the number.
    """
    entry, point = metrics.BY_NAME[metric.name], cells.point_of(results, metric)
    text = ""
    if not _is_one_variant_a_row(spec) and any(v.reveals_target_length for v in variants):
        text += cells.REVEALS
    if point is not None:
        if any(compare.saw_positions(results, v, point) for v in variants):
            text += cells.SEEN
        if "length" not in spec.columns and _is_repeated(results, variants, point):
            text += cells.REPEATED
    counts_solved = "solved" in [measure.name for measure in spec.measures]
    has_runs = any(variant.runs for variant in variants)
    is_solved = any(variant.solved for variant in variants)
    if has_runs and not is_solved and not entry.of_training and not counts_solved:
        text += "*"
    return text


def _is_repeated(results: Results, variants: Sequence[Variant], point: MetricPoint) -> bool:
    """Return whether training can draw some of the test inputs at a point."""
    if point.lengths is None:
        lengths = {point.length_for(variant.max_length) for variant in variants}
        return bool(lengths & results.repeated_lengths)
    first, last = point.lengths
    return any(first <= length <= last for length in results.repeated_lengths)


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
    return f"length {label}" if dimension == "length" else str(label)


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
    styles = {metric: metrics.BY_NAME[metric.name].style for metric in spec.metrics}
    of_seeds = [m for m, style in styles.items() if style not in ("count", "first_step")]
    summaries = [metric.show for metric in of_seeds]
    notes = [cells.intervals_note(seeds, show) for show in ("median", "iqm") if show in summaries]
    if any(metric.name == "extrapolates" for metric in spec.metrics):
        notes += extrapolation_notes(results, seeds)
    if any(len(text) > 1 and text.endswith("*") for text in texts):
        notes.append(
            "*: no seed solved the training lengths; the number is no evidence about extrapolation."
        )
    if "first_step" in styles.values():
        notes.append(FIRST_STEPS_NOTE)
    if "best" in summaries:
        notes.append(oracle_note(results))
    joined = " ".join(texts)
    for sign, words in cells.SIGNS.items():
        if sign in joined or _is_in_header(sign, results, spec):
            notes.append(words)
    return tuple(note for note in notes if note)


def extrapolation_notes(results: Results, counts: Sequence[int]) -> list[str]:
    """Return the definition of *extrapolates* and the note about its intervals."""
    definition = (
        f"*extrapolates*: runs that are {results.spec.extrapolation}; of the runs with a known "
        f"outcome."
    )
    return [definition, cells.wilson_note(counts)]


def oracle_note(results: Results) -> str:
    """Return the note of numbers that were chosen on the test."""
    return (
        f"Oracle: chosen by the test itself, as in {results.spec.oracle}; for comparison "
        f"with it alone."
    )


def _is_in_header(sign: str, results: Results, spec: TableSpec) -> bool:
    if sign == cells.REPEATED:
        return "length" in spec.columns and bool(results.repeated_lengths)
    by_length = "length" in (*spec.rows, *spec.columns) and len(results.max_lengths) == 1
    return sign == "→" and by_length and results.lengths[-1] > results.max_lengths[0]
