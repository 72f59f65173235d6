"""Tables of the literature: figures of other publications next to ours."""

from pe_lab.results import summary, variant_names
from pe_lab.results.formats import DASH, Cell, Table, number
from pe_lab.results.metrics import BY_NAME
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import Figure, Literature, has_labels

_CAPTION = (
    "*published* is copied from the source, *ours* is the median over our seeds. The protocols may "
    "differ: the config of the study lists the differences."
)


def tables(study: Study) -> list[Table]:
    """Return one table for each source of the analysis spec.

    Args:
      study: of the variants that validation chose.
    """
    return [_table(study, source) for source in study.spec.literature]


def _table(study: Study, literature: Literature) -> Table:
    rows = tuple(_row(study, figure) for figure in literature.figures)
    header = ("variant", "metric", "published", "ours")
    return Table(f"Figures of the literature: {literature.source}", _CAPTION, header, rows)


def _row(study: Study, figure: Figure) -> tuple[Cell, ...]:
    metric = figure.metric
    published = Cell(number(figure.value, BY_NAME[metric.name].style), figure.value)
    names = []
    for name, row in study.by_name.items():
        is_named = has_labels(variant_names.labels(study, name), figure.variant)
        # The published figure is of a run as trained.
        if is_named and not row["override"] and row["finished"]:
            names.append(name)
    ours = Cell(DASH)
    # Labels that several variants have do not say which one is meant.
    if len(names) == 1:
        ours = summary.of_metric(study, study.cases_of(names[0]), metric).of(names[0])
    where = Cell(f"{metric.name} {metric.point}")
    return Cell(figure.variant), where, published, ours
