"""Tables of the literature: figures of other publications next to ours."""

from pe_lab.results import cells
from pe_lab.results.formats import DASH, Cell, Table
from pe_lab.results.results import Results
from pe_lab.runs.analysis_spec import Figure, Literature, has_labels

_CAPTION = (
    "*published* is copied from the source, *ours* is the median over our seeds. The protocols may "
    "differ: the config of the study lists the differences."
)


def tables(results: Results) -> list[Table]:
    """Return one table for each source of the analysis spec.

    Args:
      results: of the variants that validation chose.
    """
    return [_table(results, source) for source in results.spec.literature]


def _table(results: Results, literature: Literature) -> Table:
    rows = tuple(_row(results, figure) for figure in literature.figures)
    header = ("variant", "metric", "published", "ours")
    return Table(f"Figures of the literature: {literature.source}", _CAPTION, header, rows)


def _row(results: Results, figure: Figure) -> tuple[Cell, ...]:
    metric = figure.metric
    text = cells.number(figure.value, metric.name)
    published = Cell(text, figure.value)
    trained = []
    for variant in results.variants:
        is_named = has_labels(variant.labels, figure.variant)
        if is_named and variant.override is None and variant.finished:
            trained.append(variant)
    ours = Cell(DASH)
    # Labels that several variants have do not say which one is meant.
    if len(trained) == 1:
        ours = cells.measure(results, trained, metric)
    where = Cell(f"{metric.name} {metric.point}")
    return Cell(figure.variant), where, published, ours
