"""What a study says of its analysis, beside its config and its sweep, before it is run.

    def analysis():
        return dict(
            question="Which encodings still copy at twice the training length?",
            success=dict(at=2, threshold=0.9),           # learnt, and this exact match there
            contrasts=(("rope", "alibi"), ("contiguous", "shifted")),
            # Axes that validation chooses. They are not compared.
            tuned=("train.learning_rate",),
            tables=(
                dict(
                    rows="model.encodings",
                    columns="positions",
                    metric=dict(name="exact_match", at=2),
                ),
            ),
        )

Plain Python and plain data: the sweep writes it into study.json, where analysis reads it. It
changes nothing that is trained.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pe_lab.runs.errors import UserError, unknown

BY_LENGTH = (  # metrics that a run has at each length
    *(
        "exact_match",
        "exact_match_without_end",
        "answer_exact_match",
        "token_accuracy",
        "floor_corrected_token_accuracy",
    ),
    *("negative_log_likelihood", "bits_per_token", "bits_per_token_sliding"),
)
OF_A_RUN = (  # one number a run
    *(
        "in_distribution",
        "in_distribution_loss",
        "trained_length",
        "retention",
        "auc",
        "log_auc",
        "L90",
        "L99",
    ),
    *("steps", "flops", "parameters"),
)
COUNTS = (
    "success",
    "learnt",
    "seeds",
    "chosen",
    "tied",
    "every_seed",
)  # of a variant, shown as they are
AT_SUCCESS = (
    "tied",
    "every_seed",
)  # counts that have a place: that of success, unless they say where
_ONE = tuple(name for name in (*OF_A_RUN, *COUNTS) if name not in AT_SUCCESS)  # at every length
_FIXED = (
    "in_distribution_loss",
    "steps",
    "flops",
    "parameters",
    "success",
    "learnt",
    "seeds",
    "chosen",
)  # at every offset too
SHOWN = (
    "median",
    "mean",
    "iqm",
    "seeds",
    "best",
)  # best: of all seeds and settings, by the test itself, where a paper did so
_LIMITS = ("L90", "L99")
DIMENSIONS = ("variant", "length", "offset", "evaluated with")  # and the axes of the sweep
AS_TRAINED = "as trained"  # what a run is evaluated with where nothing is changed
SEPARATOR = " · "  # between the labels of a variant's name


@dataclass(frozen=True)
class Place:
    """Where a metric is read: at a multiple of the training length, at a length, or as a mean over
    measured lengths of a range.
    """

    at: float | None = None
    length: int | None = None
    lengths: tuple[int, int] | None = None  # first and last
    offset: int = 0

    @property
    def somewhere(self) -> bool:
        """Whether it says a length; an offset alone is no place."""
        return (self.at, self.length, self.lengths) != (None, None, None)

    def of(self, max_length: int) -> int | None:
        """The length for a run trained up to `max_length`; None where that is no whole number, or a
        range.
        """
        if self.length is not None or self.at is None:
            return self.length
        found = self.at * max_length
        return round(found) if abs(found - round(found)) < 1e-9 else None

    def __str__(self) -> str:
        parts = [f"at {self.at:g}× the training length"] if self.at is not None else []
        parts += [f"at length {self.length}"] if self.length is not None else []
        parts += ["mean over lengths {}..{}".format(*self.lengths)] if self.lengths else []
        return ", ".join(
            [*parts, *([f"positions shifted by {self.offset}"] if self.offset else [])]
        )


@dataclass(frozen=True)
class Metric:
    """A metric by length with its place, one number of a run, or a count of a variant."""

    name: str
    place: Place = Place()
    show: str = "median"
    label: str = ""


@dataclass(frozen=True)
class Success:
    """A run succeeds if it has learnt, and its exact match reaches a threshold beyond its training
    length.
    """

    place: Place = Place(at=2.0)
    threshold: float = 0.9

    def __str__(self) -> str:
        return f"learnt, and exact match of at least {self.threshold:g} {self.place}"


@dataclass(frozen=True)
class Contrast:
    """Two variants, or two labels: then every pair of variants that agree in all other labels."""

    a: str
    b: str
    place: Place | None = None  # None: that of success


@dataclass(frozen=True)
class Published:
    """Figures of a paper by the name of a row; they stand beside runs of its full protocol
    alone.
    """

    source: str
    figures: Mapping[str, int | float]
    protocol: Mapping[str, Any]  # a part of a config


@dataclass(frozen=True)
class Table:
    """Rows, columns, and one table for each value of `each`; `measures` in place of columns."""

    title: str = ""
    rows: tuple[str, ...] = ("variant",)
    columns: tuple[str, ...] = ("length",)
    each: tuple[str, ...] = ()
    metric: Metric = Metric("exact_match")
    measures: tuple[Metric, ...] = ()
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    published: Published | None = None
    note: str = ""


@dataclass(frozen=True)
class Declaration:
    """All of it; a study that declares nothing has this as it stands."""

    question: str = ""
    contrasts: tuple[Contrast, ...] = ()
    success: Success = Success()
    tuned: tuple[str, ...] = ()
    oracle: str = (
        ""  # the source that chose setting and seed by the test; without one nothing is shown so
    )
    tables: tuple[Table, ...] = ()


def declared(data: Any) -> Declaration:
    """From the plain data of a config, or of study.json.

    Raises:
      UserError: a key that there is not, or a value of the wrong kind.
    """
    _known("analysis()", data, Declaration)
    texts = {
        key: _text(f"analysis()[{key!r}]", data[key])
        for key in ("question", "oracle")
        if key in data
    }
    contrasts = tuple(_contrast(each) for each in _items("contrasts", data.get("contrasts", ())))
    tables = tuple(
        _table(f"tables[{i}]", each)
        for i, each in enumerate(_items("tables", data.get("tables", ())))
    )
    if "oracle" not in texts and any(
        m.show == "best" for table in tables for m in (table.metric, *table.measures)
    ):
        raise UserError(
            "analysis(): show='best' chooses by the test; say which paper did so: oracle='Ruoss "
            "et al. 2023'."
        )
    return Declaration(
        contrasts=contrasts,
        success=_success(data.get("success", {})),
        tuned=_texts("tuned", data.get("tuned", ())),
        tables=tables,
        **texts,
    )


def check(
    found: Declaration, points: Sequence[Mapping[str, str]], changes: Iterable[str] = ()
) -> None:
    """That what is declared is there.

    Args:
      points: the labels of the sweep by axis.
      changes: labels of what is evaluated in place of what was trained.

    Raises:
      UserError: with the near names.
    """
    axes = dict.fromkeys(axis for labels in points for axis in labels)
    labels = [
        label
        for point in points
        for axis, label in point.items()
        if label and axis not in found.tuned
    ]
    known = {*labels, *changes}
    for axis in found.tuned:
        if axis not in axes:
            raise unknown("The sweep (analysis: tuned)", axis, axes)
    for contrast in found.contrasts:
        for label in (*parts(contrast.a), *parts(contrast.b)):
            if label not in known:
                raise unknown("The sweep (analysis: contrasts)", label, known)
    for table in found.tables:
        for name in (*table.rows, *table.columns, *table.each, *table.only):
            if name not in (*axes, *DIMENSIONS):
                raise unknown("The sweep (analysis: tables)", name, [*axes, *DIMENSIONS])
        there = {axis: {labels.get(axis, "") for labels in points} for axis in axes}
        there |= {
            "variant": known,
            "evaluated with": {AS_TRAINED, *changes},
        }  # lengths and offsets may be added later
        for axis, asked in table.only.items():
            for label in (
                part for name in asked for part in (parts(name) if axis == "variant" else [name])
            ):
                if label not in there.get(axis, {label}):
                    raise unknown(f"The axis {axis!r} (analysis: tables, only)", label, there[axis])


def parts(side: str) -> list[str]:
    """The labels of a variant's name: "rope · contiguous, evaluated with linear" has three."""
    name, _, change = side.partition(", evaluated with ")
    return [*name.split(SEPARATOR), *([change] if change else [])]


def _contrast(data: Any) -> Contrast:
    if isinstance(data, Mapping):
        _only("contrasts", data, ("a", "b", "at", "length", "offset"))
        sides, where = (
            [data.get("a"), data.get("b")],
            {k: v for k, v in data.items() if k not in ("a", "b")},
        )
        place = _place("contrasts", where) if where else None
    else:
        sides, place = list(data) if isinstance(data, list | tuple) else [], None
    if len(sides) != 2 or not all(isinstance(side, str) for side in sides) or sides[0] == sides[1]:
        raise UserError(
            f'analysis(): a contrast is two different names, ("rope", "alibi"), got {data!r}.'
        )
    return Contrast(str(sides[0]), str(sides[1]), place)


def _success(data: Any) -> Success:
    """At twice the training length unless it says where."""
    _only("success", data, ("at", "length", "offset", "threshold"))
    threshold = data.get("threshold", Success.threshold)
    if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise UserError(
            f"analysis()['success']: threshold is above 0 and at most 1, got {threshold!r}."
        )
    where = {k: v for k, v in data.items() if k != "threshold"}
    place = _place("success", where if {"at", "length"} & where.keys() else {"at": 2, **where})
    return Success(place, float(threshold))


def _place(where: str, data: Mapping[str, Any]) -> Place:
    """Of the keys at, length, lengths and offset; at most one of the first three."""
    if len(data.keys() & {"at", "length", "lengths"}) > 1:
        raise UserError(
            f"analysis()[{where!r}]: at, length and lengths exclude each other, got {dict(data)!r}."
        )
    at, length, lengths, offset = (data.get(key) for key in ("at", "length", "lengths", "offset"))
    good = [
        at is None or (isinstance(at, int | float) and at > 0),
        length is None or (isinstance(length, int) and length > 0),
        lengths is None
        or (
            len(lengths) == 2
            and all(isinstance(n, int) for n in lengths)
            and lengths[0] <= lengths[1]
        ),
        offset is None or (isinstance(offset, int) and offset >= 0),
    ]
    if not all(good):
        example = "at=2, length=16, lengths=(41, 500) or offset=8"
        raise UserError(f"analysis()[{where!r}]: a place is {example}, got {dict(data)!r}.")
    return Place(
        None if at is None else float(at), length, tuple(lengths) if lengths else None, offset or 0
    )


def _metric(where: str, data: Any) -> Metric:
    data = {"name": data} if isinstance(data, str) else data
    _only(where, data, ("name", "at", "length", "lengths", "offset", "show", "label"))
    name, show = data.get("name", "exact_match"), data.get("show", "median")
    if name not in (*BY_LENGTH, *OF_A_RUN, *COUNTS):
        raise unknown(f"analysis()[{where!r}]: metric", str(name), (*BY_LENGTH, *OF_A_RUN, *COUNTS))
    if show not in SHOWN:
        raise unknown(f"analysis()[{where!r}]: show", str(show), SHOWN)
    if name in _LIMITS and show in ("mean", "iqm"):
        raise UserError(
            f"analysis()[{where!r}]: {name} is a length or a bound of one, so it has no mean: "
            f"show='median' or 'seeds'."
        )
    place = _place(
        where, {k: v for k, v in data.items() if k in ("at", "length", "lengths", "offset")}
    )
    return Metric(name, place, show, _text(where, data.get("label", "")))


def _table(where: str, data: Any) -> Table:
    _known(f"analysis()[{where!r}]", data, Table)
    given: dict[str, Any] = {
        key: _texts(where, data[key]) for key in ("rows", "columns", "each") if key in data
    }
    given |= {key: _text(where, data[key]) for key in ("title", "note") if key in data}
    given |= {"metric": _metric(where, data["metric"])} if "metric" in data else {}
    if "measures" in data:
        given |= {
            "measures": tuple(_metric(where, each) for each in _items(where, data["measures"])),
            "columns": (),
        }
    if "only" in data:
        _mapping(where, data["only"])
        given["only"] = {axis: _texts(where, labels) for axis, labels in data["only"].items()}
    if data.get("published") is not None:
        given["published"] = _published(f"{where}.published", data["published"])
    table = Table(**given)
    if "measures" in data and data.get("columns"):
        raise UserError(f"analysis()[{where!r}]: a table has columns or measures, not both.")
    for metric in table.measures or (table.metric,):
        _check_place(where, table, metric)
    return _at_offset(where, table)


def _check_place(where: str, table: Table, metric: Metric) -> None:
    """That a metric's length and offset are said once, and only where it has a value at each."""
    shown, placed, name = (
        (*table.rows, *table.columns, *table.each),
        metric.place.somewhere,
        metric.name,
    )
    here, dimensions = f"analysis()[{where!r}]", "rows, columns or each"
    if name in _ONE and placed:
        raise UserError(
            f"{here}: {name} is one number a run, of lengths of its own: it takes no at, length "
            f"or lengths."
        )
    if name in _ONE and "length" in shown:
        raise UserError(
            f"{here}: {name} is the same at every length: 'length' (also what columns are unless "
            f"told) is none of its {dimensions}."
        )
    if name in _FIXED and ("offset" in shown or metric.place.offset):
        raise UserError(
            f"{here}: {name} is the same at every offset: 'offset' is none of its {dimensions}, "
            f"and no part of its place."
        )
    if (placed or name in BY_LENGTH) and placed == ("length" in shown):
        said = "its place is said twice" if placed else "say where"
        raise UserError(
            f"{here}: {name} has a value at each length, {said}: "
            f"'length' among {dimensions}, or a place as in dict(name='exact_match', at=2)."
        )
    if "length" in table.only and "length" not in shown:
        raise UserError(
            f"{here}: 'length' in only chooses from lengths among {dimensions}; the length of a "
            f"metric is its place: length=8."
        )
    if metric.place.offset and "offset" in (*shown, *table.only):
        raise UserError(
            f"{here}: the offset of {name} is said twice, in its place and among {dimensions} or "
            f"only."
        )
    if name in AT_SUCCESS and "offset" in shown and not (placed or "length" in shown):
        raise UserError(
            f"{here}: {name} at each offset needs a length: 'length' among {dimensions}, or a "
            f"place as in dict(name={name!r}, at=2)."
        )


def _at_offset(where: str, table: Table) -> Table:
    """With the only offset of a table that shows none as a part of its metrics' places."""
    if "offset" not in table.only or "offset" in (*table.rows, *table.columns, *table.each):
        return table
    labels = table.only["offset"]
    if len(labels) != 1 or not labels[0].isdecimal():
        raise UserError(
            f"analysis()[{where!r}]: only has one offset unless 'offset' is among rows, columns "
            f"or each, got {labels!r}."
        )
    only = {axis: kept for axis, kept in table.only.items() if axis != "offset"}
    measures = tuple(_moved(metric, int(labels[0])) for metric in table.measures)
    return replace(table, only=only, metric=_moved(table.metric, int(labels[0])), measures=measures)


def _moved(metric: Metric, offset: int) -> Metric:
    return (
        metric
        if metric.name in _FIXED
        else replace(metric, place=replace(metric.place, offset=offset))
    )


def _published(where: str, data: Any) -> Published:
    _only(where, data, ("source", "figures", "protocol"))
    if data.keys() != {"source", "figures", "protocol"} or not data["protocol"]:
        raise UserError(
            f"analysis()[{where!r}]: published figures have a source, figures by row, and the "
            f"protocol that they hold for."
        )
    _mapping(where, data["figures"])
    _mapping(where, data["protocol"])
    return Published(_text(where, data["source"]), dict(data["figures"]), data["protocol"])


def _known(owner: str, data: Any, kind: type) -> None:
    _mapping(owner, data)
    for key in data:
        if key not in (names := [f.name for f in fields(kind)]):
            raise unknown(owner, str(key), names)


def _only(where: str, data: Any, names: Sequence[str]) -> None:
    _mapping(where, data)
    for key in data:
        if key not in names:
            raise unknown(f"analysis()[{where!r}]", str(key), names)


def _mapping(where: str, data: Any) -> None:
    if not isinstance(data, Mapping):
        raise UserError(f"analysis(): {where} is a dict, got {data!r}.")


def _items(where: str, data: Any) -> Sequence[Any]:
    if not isinstance(data, list | tuple):
        raise UserError(f"analysis(): {where} is a tuple, got {data!r}.")
    return data


def _text(where: str, data: Any) -> str:
    if not isinstance(data, str):
        raise UserError(f"analysis(): {where} is text, got {data!r}.")
    return data


def _texts(where: str, data: Any) -> tuple[str, ...]:
    """One text, or several."""
    return tuple(
        _text(where, each) for each in _items(where, (data,) if isinstance(data, str) else data)
    )
