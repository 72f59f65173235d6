"""The only reader of analysis specs: from plain values to a checked `AnalysisSpec`.

`check_analysis_spec` then compares the names in a spec with the labels of the sweep.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pe_lab.results import metrics, table_checks
from pe_lab.results.read_points import LENGTH_KEYS, POINT_KEYS, metric_point
from pe_lab.runs.errors import UserError
from pe_lab.runs.settings import declarations
from pe_lab.runs.settings.declarations import check_keys
from pe_lab.runs.settings.typed_values import checked
from pe_lab.runs.studies.analysis_spec import (
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

# From the name of a value in errors, and the value, to the field of a spec.
Reader = Callable[[str, object], object]


def from_dict(values: object) -> AnalysisSpec:
    """Return the analysis spec of plain values.

    Args:
      values: what analysis() of a config returns, or "analysis" of a study.json.

    Raises:
      UserError: an unknown key or name, or a value of the wrong type.
    """
    readers: dict[str, Reader] = {
        "contrasts": lambda where, items: _each(where, items, _contrast),
        "extrapolation": _extrapolation,
        "tuned": _texts,
        "tables": _tables,
        "literature": lambda where, items: _each(where, items, _literature),
        "reproduction": _reproduction,
    }
    spec = AnalysisSpec(**_read(AnalysisSpec, "analysis()", values, readers))
    summaries = {metric.show for table in spec.tables for metric in table.metrics}
    if "best" in summaries and not spec.oracle:
        raise UserError(
            "analysis(): show='best' chooses on the test itself, so it needs the paper that did "
            "so: oracle='Ruoss et al. 2023'."
        )
    return spec


def _read(
    cls: type,
    where: str,
    values: object,
    readers: Mapping[str, Reader] = MappingProxyType({}),
    *,
    point: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the stated fields of a part of the spec, each checked by its type or its reader.

    Args:
      where: the name of the part in errors.
      readers: of the fields that are not plain.
      point: the keys that state the field `point`.
    """
    names = {field.name for field in dataclasses.fields(cls)}
    if point:
        names = (names - {"point"}) | set(point)
    stated = _dict(where, values, names)
    by_name = {}
    for key, reader in readers.items():
        name = f"{where}['{key}']"
        by_name[name] = functools.partial(reader, name)
    fields = declarations.read(cls, stated, f"{where}['{{}}']".format, by_name)
    if stated.keys() & set(point):
        fields["point"] = metric_point(where, stated)
    return fields


def _contrast(where: str, values: object) -> Contrast:
    if isinstance(values, list | tuple) and len(values) == 2:
        values = dict(zip("ab", values, strict=True))
    error = UserError(
        f'{where}: a contrast is two different names, ("rope", "alibi"), got {values!r}.'
    )
    if not isinstance(values, Mapping):
        raise error
    fields = _read(Contrast, where, values, point=("at", "length", "offset"))
    if fields.get("a") == fields.get("b") or not fields.keys() >= {"a", "b"}:
        raise error
    contrast = Contrast(**fields)
    if contrast.margin is not None and contrast.margin <= 0:
        raise UserError(
            f"{where}: margin is a difference above 0, such as 0.05, got {contrast.margin:g}."
        )
    return contrast


def _extrapolation(where: str, values: object) -> Extrapolation:
    """Return the criterion, at twice the training length unless a length is set."""
    settings = _dict(where, values)
    if not settings.keys() & set(LENGTH_KEYS):
        settings = {**settings, "at": Extrapolation.point.at}
    criterion = Extrapolation(
        **_read(Extrapolation, where, settings, point=("at", "length", "offset"))
    )
    if not 0 < criterion.threshold <= 1:
        raise UserError(
            f"{where}: threshold must be above 0 and at most 1, got {criterion.threshold:g}."
        )
    return criterion


def _metric(where: str, values: object) -> MetricSpec:
    if isinstance(values, str):
        values = {"name": values}
    stated = _read(MetricSpec, where, values, point=POINT_KEYS)
    fields = {"name": "exact_match", "show": "median", **stated}
    check_keys(f"{where}: metric", [fields["name"]], metrics.BY_NAME)
    check_keys(f"{where}: show", [fields["show"]], SUMMARIES)
    metric = MetricSpec(**fields)
    style = metrics.BY_NAME[metric.name].style
    if style == "limit" and metric.show in ("mean", "iqm"):
        raise UserError(
            f"{where}: {metric.name} is a length or a bound of one, so it has no mean: "
            f"show='median' or show='seeds'."
        )
    if style == "first_step" and metric.show not in ("median", "seeds"):
        raise UserError(
            f"{where}: {metric.name} is not known for runs that never got there: show='median' "
            f"or show='seeds'."
        )
    return metric


def _tables(where: str, values: object) -> tuple[TableSpec, ...]:
    items = enumerate(_items(where, values))
    return tuple(_table(f"{where}[{index}]", table) for index, table in items)


def _table(where: str, values: object) -> TableSpec:
    readers: dict[str, Reader] = {
        "rows": _texts,
        "columns": _texts,
        "each": _texts,
        "metric": _metric,
        "measures": lambda where, items: _each(where, items, _metric),
        "only": lambda where, only: {k: _texts(where, v) for k, v in _dict(where, only).items()},
    }
    fields = _read(TableSpec, where, values, readers)
    if "measures" in fields:
        if fields.get("columns"):
            raise UserError(f"{where}: a table has columns or measures, not both.")
        fields["columns"] = ()
    table = TableSpec(**fields)
    for metric in table.metrics:
        table_checks.check_metric(where, table, metric)
    return table


def _literature(where: str, values: object) -> Literature:
    settings = _dict(where, values, ("source", "metric", "figures"))
    source = checked(settings.get("source", ""), str, f"{where}['source']")
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
        figures.append(Figure(checked(variant, str, f"{where}: a variant"), metric, float(value)))
    return Literature(source, tuple(figures))


def _reproduction(where: str, values: object) -> Reproduction:
    readers: dict[str, Reader] = {
        "claims": lambda where, items: tuple(
            itertools.chain.from_iterable(_each(where, items, _claims))
        )
    }
    reproduction = Reproduction(**_read(Reproduction, where, values, readers))
    if values and not reproduction.paper:
        raise UserError(f"{where}: claims need a paper: paper='Press et al. 2021'.")
    return reproduction


def _claims(where: str, values: object) -> list[Claim]:
    """Return one claim, or one for each multiple of the training length."""
    multiples = values.get("at") if isinstance(values, Mapping) else None
    if not isinstance(values, Mapping) or not isinstance(multiples, list | tuple):
        return [_claim(where, values)]
    if not multiples or values.get("figures"):
        raise UserError(
            f"{where}: a claim with figures is about one length, and one without about one or "
            f"more, got at={multiples!r}."
        )
    return [_claim(where, {**values, "at": multiple}) for multiple in multiples]


def _claim(where: str, values: object) -> Claim:
    fields = {"text": "", "a": "", **_read(Claim, where, values, point=POINT_KEYS)}
    claim = Claim(**fields)
    if not claim.text or not claim.a or claim.a == claim.b:
        raise UserError(
            f"{where}: a claim has a text and names two variants, or one, got {values!r}."
        )
    if claim.metric:
        check_keys(f"{where}: metric", [claim.metric], metrics.BY_NAME)
    if claim.is_mean and not claim.b:
        raise UserError(f"{where}: a mean is one over pairs of variants, but b is missing.")
    if claim.first_solved and (claim.b or claim.first_solved < 0):
        raise UserError(
            f"{where}: first_solved is a number of seeds of a claim about one variant, got "
            f"{claim.first_solved} and b={claim.b!r}."
        )
    if len(claim.figures) not in ((0, 2) if claim.b else (1,)):
        raise UserError(
            f"{where}: figures are the numbers of the named variants, as in (0.9, 0.2), got "
            f"{claim.figures!r}."
        )
    return claim


def _each(where: str, values: object, reader: Reader) -> tuple[Any, ...]:
    """Return the items of a tuple, each read under the tuple's name."""
    return tuple(reader(where, item) for item in _items(where, values))


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


def _texts(where: str, values: object) -> tuple[str, ...]:
    """Return a tuple of texts. One text is a tuple of one."""
    items = (values,) if isinstance(values, str) else _items(where, values)
    return tuple(checked(item, str, where) for item in items)
