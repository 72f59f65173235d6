"""The cells of a table of the analysis spec before they are written: which variants meet where a
row and a column cross.

Every variant, at every length and offset, has a value on each dimension: its labels on the axes of
the sweep, its name, the length, the offset, what it was evaluated with. A cell holds what agrees
with its row, its column and its table: one variant, or one for each task, whose seeds are then
pooled by task.
"""

import dataclasses
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pe_lab.results import metrics
from pe_lab.results.results import EVALUATED_WITH, Results, Variant
from pe_lab.runs import analysis_spec
from pe_lab.runs.analysis_spec import AS_TRAINED, Metric, MetricPoint
from pe_lab.runs.errors import UserError

_NUMBERS = ("length", "offset")


@dataclass(frozen=True)
class Point:
    """A variant at a length and an offset; length None where the table's metric is placed
    elsewhere.
    """

    variant: Variant
    length: int | None
    offset: int

    @property
    def asked_for(self) -> bool:
        """Whether a run of it was measured there, or was to be and could not."""
        return self.length is None or any(
            place[:2] == (self.length, self.offset)
            for run in self.variant.measured
            for place in run.rows
        )

    def on(self, dimension: str) -> Any:
        """Its value on a dimension."""
        if dimension == "variant":
            return self.variant.name
        if dimension in _NUMBERS:
            return self.length if dimension == "length" else self.offset
        return self.variant.labels.get(dimension, AS_TRAINED if dimension == EVALUATED_WITH else "")


@dataclass(frozen=True)
class Grid:
    """One table before it is written: its rows and columns as values on their dimensions, and what
    meets where they cross.
    """

    asked: analysis_spec.TableSpec
    kind: tuple[Any, ...]  # its value on what there is one table for each of
    rows: list[tuple[Any, ...]]
    columns: list[tuple[Any, ...]]
    found: dict[tuple[Any, Any], list[Point]]

    def at(self, row: tuple[Any, ...], column: tuple[Any, ...]) -> list[Point]:
        return self.found.get((row, column), [])

    @property
    def points(self) -> list[Point]:
        return [p for found in self.found.values() for p in found]

    def seeds(self, row: tuple[Any, ...], column: tuple[Any, ...]) -> list[Any]:
        """The metric's numbers of all runs of a cell that have one."""
        points = self.at(row, column)
        runs = [run for variant in one_a_task(self.asked, points) for run in variant.measured]
        return [
            v
            for run in runs
            if (v := metrics.value(run, metric_at(self.asked, points[0]))) is not None
        ]


def grids(results: Results, asked: analysis_spec.TableSpec) -> list[Grid]:
    """One for each value of what is left beside rows and columns."""
    points = [
        p
        for p in _points(results, asked)
        if all(str(p.on(d)) in labels for d, labels in asked.only.items())
    ]
    made = []
    for kind in _keys(points, asked.each):
        own = [p for p in points if _key(p, asked.each) == kind]
        found: dict[tuple[Any, Any], list[Point]] = {}
        for point in own:
            found.setdefault((_key(point, asked.rows), _key(point, asked.columns)), []).append(
                point
            )
        made.append(
            Grid(
                asked,
                kind,
                _keys(own, asked.rows),
                _keys([p for p in own if p.asked_for] or own, asked.columns),
                found,
            )
        )
    return made


def _points(results: Results, asked: analysis_spec.TableSpec) -> list[Point]:
    dimensions = _dimensions(asked)
    lengths = results.lengths if "length" in dimensions else [None]
    offsets = results.offsets if "offset" in dimensions else [asked.metric.point.offset]
    return [Point(v, n, o) for v, o, n in itertools.product(results.variants, offsets, lengths)]


def _dimensions(asked: analysis_spec.TableSpec) -> tuple[str, ...]:
    return (*asked.rows, *asked.columns, *asked.each, *asked.only)


def _key(point: Point, dimensions: Sequence[str]) -> tuple[Any, ...]:
    return tuple(point.on(d) for d in dimensions)


def _keys(points: Sequence[Point], dimensions: Sequence[str]) -> list[tuple[Any, ...]]:
    """In the order of the sweep; numbers in their own."""
    found = dict.fromkeys(_key(p, dimensions) for p in points)
    order = [list(dict.fromkeys(key[i] for key in found)) for i in range(len(dimensions))]
    order = [
        values if as_numbers(values) is None else sorted(values, key=float) for values in order
    ]
    return sorted(
        found,
        key=lambda key: [values.index(value) for values, value in zip(order, key, strict=True)],
    )


def metric_at(asked: analysis_spec.TableSpec, point: Point, metric: Metric | None = None) -> Metric:
    """A metric of the table at the length and offset of a point, where these are among its
    dimensions.

    Args:
      metric: None: that of the table, which has no measures.
    """
    metric = metric or asked.metric
    if point.length is not None:
        return dataclasses.replace(
            metric, point=MetricPoint(length=point.length, offset=point.offset)
        )
    if "offset" in _dimensions(asked):
        return dataclasses.replace(
            metric, point=dataclasses.replace(metric.point, offset=point.offset)
        )
    return metric


def one_a_task(asked: analysis_spec.TableSpec, points: list[Point]) -> list[Variant]:
    """The variants of a cell: one, or one for each task.

    Raises:
      UserError: there are more.
    """
    variants = list({p.variant.name: p.variant for p in points}.values())
    differ = [
        a
        for a in dict.fromkeys(a for v in variants for a in v.labels)
        if len({v.labels.get(a) for v in variants}) > 1
    ]
    if len(variants) > 1 and differ != ["task"]:
        free = ", ".join(repr(a) for a in differ) or "'variant'"
        words = asked.title or f"rows {title(asked.rows)}"
        raise UserError(
            f"analysis(): the table of {words} leaves several variants in one cell: name {free} "
            f"too, among rows, columns, each or only."
        )
    return variants


def as_numbers(values: Sequence[Any]) -> list[float] | None:
    """Labels as the numbers that they are; None if one of them is none."""
    try:
        return [float(value) for value in values]
    except ValueError:
        return None


def title(dimensions: Sequence[str]) -> str:
    """Axes as a heading names them: the end of an axis into an encoding, combine, and all of
    another but for "model.".
    """
    return " · ".join(
        re.sub(r"^model\.(encodings\.\d+\.)?", "", dimension) for dimension in dimensions
    )
