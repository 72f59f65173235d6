"""The only reader of analysis specs: from plain values to a checked `AnalysisSpec`.

`check_analysis_spec` then compares the names in a spec with the labels of the sweep.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from pe_lab.results import metrics, table_checks
from pe_lab.results.read_points import LENGTH_KEYS, POINT_KEYS, metric_point
from pe_lab.runs.analysis_spec import (
    SUMMARIES,
    AnalysisSpec,
    Claim,
    Contrast,
    Extrapolation,
    Figure,
    Literature,
    MetricSpec,
    Reproduction,
    TableSpec,
)
from pe_lab.runs.declarations import check_keys
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.typed_values import checked


def from_dict(values: object) -> AnalysisSpec:
    """Return the analysis spec of plain values.

    Args:
      values: what analysis() of a config returns, or "analysis" of a study.json.

    Raises:
      UserError: an unknown key or name, or a value of the wrong type.
    """
    settings = _dict("analysis()", values, _field_names(AnalysisSpec))
    contrasts = _items("analysis()['contrasts']", settings.get("contrasts", ()))
    literature = _items("analysis()['literature']", settings.get("literature", ()))
    tables = []
    for index, table in enumerate(_items("analysis()['tables']", settings.get("tables", ()))):
        tables.append(_table(f"analysis()['tables'][{index}]", table))
    spec = AnalysisSpec(
        question=_text("analysis()['question']", settings.get("question", "")),
        contrasts=tuple(map(_contrast, contrasts)),
        extrapolation=_extrapolation(settings.get("extrapolation", {})),
        tuned=_texts("analysis()['tuned']", settings.get("tuned", ())),
        oracle=_text("analysis()['oracle']", settings.get("oracle", "")),
        tables=tuple(tables),
        literature=tuple(map(_literature, literature)),
        reproduction=_reproduction(settings.get("reproduction", {})),
    )
    summaries = {metric.show for table in tables for metric in table.metrics}
    if "best" in summaries and not spec.oracle:
        raise UserError(
            "analysis(): show='best' chooses on the test itself, so it needs the paper that did "
            "so: oracle='Ruoss et al. 2023'."
        )
    return spec


_CONTRAST = ("a", "b", "at", "length", "offset", "margin", "seen_positions")


def _contrast(values: object) -> Contrast:
    where = "analysis()['contrasts']"
    point = None
    margin = None
    seen_positions = False
    names: list[object] = []
    if isinstance(values, Mapping):
        settings = _dict(where, values, _CONTRAST)
        names = [settings.get("a"), settings.get("b")]
        seen_positions = _flag(where, "seen_positions", settings.get("seen_positions", False))
        # Without a point of its own, a contrast is at the point of extrapolation.
        if settings.keys() & {"at", "length", "offset"}:
            point = metric_point(where, settings)
        if "margin" in settings:
            margin = _margin(where, settings["margin"])
    elif isinstance(values, list | tuple):
        names = list(values)
    texts = [name for name in names if isinstance(name, str)]
    if len(names) != 2 or len(set(texts)) != 2:
        raise UserError(
            f'{where}: a contrast is two different names, ("rope", "alibi"), got {values!r}.'
        )
    return Contrast(texts[0], texts[1], point, margin, seen_positions)


def _flag(where: str, name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UserError(f"{where}: {name} is True or False, got {value!r}.")
    return value


def _margin(where: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise UserError(f"{where}: margin is a difference above 0, such as 0.05, got {value!r}.")
    return float(value)


def _extrapolation(values: object) -> Extrapolation:
    """Return the criterion, at twice the training length unless a length is set."""
    where = "analysis()['extrapolation']"
    settings = _dict(where, values, ("at", "length", "offset", "threshold"))
    threshold = settings.get("threshold", Extrapolation.threshold)
    if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise UserError(f"{where}: threshold must be above 0 and at most 1, got {threshold!r}.")
    if not settings.keys() & set(LENGTH_KEYS):
        settings = {**settings, "at": Extrapolation.point.at}
    return Extrapolation(metric_point(where, settings), float(threshold))


def _metric(where: str, values: object) -> MetricSpec:
    if isinstance(values, str):
        values = {"name": values}
    settings = _dict(where, values, ("name", "show", "label", *POINT_KEYS))
    name = str(settings.get("name", "exact_match"))
    show = str(settings.get("show", "median"))
    if name not in metrics.BY_NAME:
        raise unknown(f"{where}: metric", name, metrics.BY_NAME)
    if show not in SUMMARIES:
        raise unknown(f"{where}: show", show, SUMMARIES)
    style = metrics.BY_NAME[name].style
    if style == "limit" and show in ("mean", "iqm"):
        raise UserError(
            f"{where}: {name} is a length or a bound of one, so it has no mean: show='median' or "
            f"show='seeds'."
        )
    if style == "first_step" and show not in ("median", "seeds"):
        raise UserError(
            f"{where}: {name} is not known for runs that never got there: show='median' or "
            f"show='seeds'."
        )
    label = _text(f"{where}['label']", settings.get("label", ""))
    return MetricSpec(name, metric_point(where, settings), show, label)


def _table(where: str, values: object) -> TableSpec:
    settings = _dict(where, values, _field_names(TableSpec))
    if "measures" in settings and settings.get("columns"):
        raise UserError(f"{where}: a table has columns or measures, not both.")
    columns: tuple[str, ...] = ()
    if "measures" not in settings:
        columns = _texts(where, settings.get("columns", TableSpec.columns))
    measures = _items(where, settings.get("measures", ()))
    only = _dict(f"{where}['only']", settings.get("only", {}))
    table = TableSpec(
        title=_text(where, settings.get("title", "")),
        rows=_texts(where, settings.get("rows", TableSpec.rows)),
        columns=columns,
        each=_texts(where, settings.get("each", ())),
        metric=_metric(where, settings.get("metric", "exact_match")),
        measures=tuple(_metric(where, measure) for measure in measures),
        only={axis: _texts(where, labels) for axis, labels in only.items()},
        note=_text(where, settings.get("note", "")),
    )
    for metric in table.metrics:
        table_checks.check_metric(where, table, metric)
    return table


def _literature(values: object) -> Literature:
    where = "analysis()['literature']"
    settings = _dict(where, values, ("source", "metric", "figures"))
    source = _text(f"{where}['source']", settings.get("source", ""))
    if not source:
        raise UserError(f"{where}: figures need a source: publication and table, or file.")
    name = settings.get("metric", "exact_match")
    figures = []
    for figure in _items(f"{where}['figures']", settings.get("figures", ())):
        if not isinstance(figure, list | tuple) or len(figure) != 3:
            raise UserError(
                f"{where}: a figure is a variant, a length or range of lengths, and a value, as "
                f'in ("rope", (51, 100), 0.9), got {figure!r}.'
            )
        variant, lengths, value = figure
        key = "length" if isinstance(lengths, int) else "lengths"
        metric = _metric(where, {"name": name, key: lengths})
        if not isinstance(value, int | float):
            raise UserError(f"{where} must hold numbers, got {value!r}.")
        figures.append(Figure(_text(f"{where}: a variant", variant), metric, float(value)))
    return Literature(source, tuple(figures))


def _reproduction(values: object) -> Reproduction:
    where = "analysis()['reproduction']"
    if values == {}:
        return Reproduction()
    settings = _dict(where, values, _field_names(Reproduction))
    paper = _text(f"{where}['paper']", settings.get("paper", ""))
    if not paper:
        raise UserError(f"{where}: claims need a paper: paper='Press et al. 2021'.")
    is_authors_size = _flag(where, "is_authors_size", settings.get("is_authors_size", False))
    claims = _items(f"{where}['claims']", settings.get("claims", ()))
    return Reproduction(paper, is_authors_size, tuple(map(_claim, claims)))


def _claim(values: object) -> Claim:
    where = "analysis()['reproduction']['claims']"
    settings = _dict(where, values, ("text", "a", "b", "figures", *POINT_KEYS))
    text, a, b = (_text(where, settings.get(key, "")) for key in ("text", "a", "b"))
    figures = _items(f"{where}: figures", settings.get("figures", ()))
    numbers = [figure for figure in figures if isinstance(figure, int | float)]
    if not text or not a or a == b:
        raise UserError(
            f"{where}: a claim has a text and names two variants, or one, got {values!r}."
        )
    if len(numbers) != len(figures) or len(numbers) not in ((0, 2) if b else (1,)):
        raise UserError(
            f"{where}: figures are the numbers of the named variants, as in (0.9, 0.2), got "
            f"{figures!r}."
        )
    point = metric_point(where, settings) if settings.keys() & set(POINT_KEYS) else None
    return Claim(text, a, b, point, tuple(map(float, numbers)))


def _field_names(cls: type) -> set[str]:
    return {f.name for f in dataclasses.fields(cls)}


def _dict(where: str, values: object, keys: Iterable[str] | None = None) -> Mapping[str, object]:
    """Return a dict whose keys are known. `keys=None` allows every key."""
    if not isinstance(values, Mapping):
        raise UserError(f"{where} must be a dict, got {values!r}.")
    if keys is not None:
        check_keys(where, values, keys)
    return values


def _items(where: str, values: object) -> Sequence[object]:
    if not isinstance(values, list | tuple):
        raise UserError(f"{where} must be a tuple, got {values!r}.")
    return values


def _text(where: str, value: object) -> str:
    return checked(value, str, where)


def _texts(where: str, values: object) -> tuple[str, ...]:
    """Return a tuple of texts. One text is a tuple of one."""
    if isinstance(values, str):
        return (values,)
    return tuple(_text(where, value) for value in _items(where, values))
