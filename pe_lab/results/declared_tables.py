"""The tables of the analysis spec, written: titles, headings, captions and notes."""

from collections.abc import Sequence

from pe_lab.results import compare, metrics, notes, summary, table_summaries
from pe_lab.results.comparable import is_one_variant_a_row
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.study import Study
from pe_lab.results.summary import Key, Summary, groups
from pe_lab.results.table_summaries import title
from pe_lab.runs.studies.analysis_spec import SEPARATOR, MetricSpec, TableSpec

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


def tables(study: Study, spec: TableSpec) -> list[Table]:
    """Return the tables of a spec.

    Args:
      study: of the variants that validation chose.

    Raises:
      UserError: rows and columns leave several variants in one cell.
    """
    summaries = table_summaries.summaries(study, spec)
    return [_table(study, spec, kind, of_kind) for kind, of_kind in summaries.items()]


def column(metric: MetricSpec, study: Study) -> str:
    """Return the heading of a metric."""
    if metric.label:
        return metric.label
    entry = metrics.BY_NAME[metric.name]
    words = entry.label
    if entry.by_length:
        words += f" {summary.point_of(study, metric)}"
    elif metric.point.offset:
        words += f", {metric.point}"
    summary_name = SHOWN[metric.show]
    if summary_name and entry.style != "count":  # a count is no summary over seeds
        words += f", {summary_name}"
    return words


def length_name(study: Study, length: int) -> str:
    """Return the heading of a length.

    It has an arrow beyond the training length, if this is the same for all variants, and the sign
    of repeated inputs.
    """
    text = str(length)
    if len(study.max_lengths) == 1 and length > study.max_lengths[0]:
        text = f"→{text}"
    if any(length in lengths for lengths in study.trained["repeated"]):
        text += notes.REPEATED
    return text


def _table(study: Study, spec: TableSpec, kind: Key, of_kind: Summary) -> Table:
    if spec.measures:
        header = [column(metric, study) for metric in spec.measures]
    else:
        header = [heading(study, spec.columns, key) for key in of_kind.columns]
    reveals = of_kind.values["variant"].map(study.variants["reveals_target_length"])
    marked = groups(of_kind.values[reveals], spec.rows) if is_one_variant_a_row(spec) else {}
    body = []
    for row in of_kind.rows:
        label = SEPARATOR.join(str(part) for part in row if part != "") or DASH
        if row in marked:
            label += f" {notes.REVEALS}"
        body.append((Cell(label), *(of_kind.at(row, key) for key in of_kind.columns)))
    parts = [name_of(spec)]
    for dimension, text in zip(spec.each, kind, strict=True):
        parts.append(_in_title(dimension, text))
    headings = [title(spec.rows), *header]
    of_table = _notes(study, spec, of_kind, body)
    return notes.table(
        ", ".join(parts), _caption(spec), headings, body, of_table, beyond="length" in spec.columns
    )


def name_of(spec: TableSpec) -> str:
    """Return the title of a table, or one made from its content."""
    if spec.title or spec.measures:
        return spec.title or f"By {title(spec.rows)}"
    dimensions = [name for name in (*spec.rows, *spec.columns) if name != "variant"]
    by = " and ".join(title([dimension]) for dimension in dimensions)
    label = metrics.BY_NAME[spec.metric.name].label
    measured = f"{label} {spec.metric.point}".strip()
    # str.capitalize would write L90 of a label in small letters.
    return f"{measured[0].upper()}{measured[1:]} by {by}"


def heading(study: Study, dimensions: Sequence[str], key: Key) -> str:
    """Return the heading of a column."""
    words = []
    for dimension, label in zip(dimensions, key, strict=True):
        if dimension == "length":
            words.append(length_name(study, int(label)))
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
    study: Study, spec: TableSpec, of_kind: Summary, body: Sequence[Sequence[Cell]]
) -> list[str]:
    """Return the notes of a table but those of its signs."""
    texts = [cell.text for row in body for cell in row]
    seeds = [study.by_name[name]["finished"] for name in of_kind.values["variant"].unique()]
    of_table: list[str] = []
    styles = [metrics.BY_NAME[metric.name].style for metric in spec.metrics]
    # Counts and first steps have intervals of their own.
    with_style = zip(spec.metrics, styles, strict=True)
    summaries = {m.show for m, style in with_style if style not in ("count", "first_step")}
    for show in ("median", "iqm"):
        if show in summaries:
            of_table.append(notes.intervals(seeds, show))
    if any(metric.name == "extrapolates" for metric in spec.metrics):
        outcomes = compare.extrapolation_counts(study, of_kind.values["variant"].unique())
        of_table += notes.extrapolation(study, [counts.count for counts in outcomes.values()])
    # A lone star is a label, not the sign behind a number.
    if any(len(text) > 1 and text.endswith(notes.UNSOLVED) for text in texts):
        of_table.append(notes.NOT_SOLVED)
    if "first_step" in styles:
        of_table.append(notes.FIRST_STEPS)
    if "best" in summaries:
        of_table.append(notes.oracle(study))
    return of_table
