"""The algebra of a sweep, in plain Python: axes are combined to points, points are overrides of a
config.

    grid.product(
        {"model.encodings": [(dict(name="rope"),), grid.labelled("no code", ())]},
        grid.zipped({"train.max_length": [8, 16], "train.steps": [1000, 2000]}),
        {"seed": range(3)},
    )

An axis is a mapping from a dotted path of the config to its values. A point is a mapping from paths
to choices, each a value with the label that tables show.
"""

import builtins
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pe_lab.runs.labels import label


@dataclass(frozen=True)
class Choice:
    """One value of an axis and its name in tables."""

    value: Any
    label: str


Point = dict[str, Choice]
Axis = Mapping[str, Iterable[Any]] | list[Point]


def labelled(label: str, value: Any) -> Choice:
    """A value under a name of your own; under "" it is not shown, and may not be all that tells two
    variants apart.
    """
    return Choice(value, label)


def product(*axes: Axis) -> list[Point]:
    """Every combination; the last axis changes fastest. An axis may be a list of points."""
    combinations = itertools.product(*(part for axis in axes for part in _parts(axis)))
    return [_merge(points) for points in combinations]


def zipped(*axes: Axis) -> list[Point]:
    """The first values of all axes together, then the second, …; the axes are equally long."""
    parts = [part for axis in axes for part in _parts(axis)]
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise ValueError(f"zipped axes must be equally long, got {sorted(lengths)} values.")
    return [_merge(points) for points in builtins.zip(*parts, strict=True)]


def concat(*parts: list[Point]) -> list[Point]:
    """One list of points after the other."""
    return [point for part in parts for point in part]


def exclude(points: list[Point], unwanted: Callable[[dict[str, str]], bool]) -> list[Point]:
    """The points for which `unwanted`, given their labels by path, is false."""
    return [p for p in points if not unwanted({path: choice.label for path, choice in p.items()})]


def _parts(axis: Axis) -> list[list[Point]]:
    if isinstance(axis, list):
        return [axis]
    for path, values in axis.items():
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise TypeError(f"the axis {path!r} needs a list of values, got {values!r}")
    return [
        [{path: v if isinstance(v, Choice) else Choice(v, label(v))} for v in values]
        for path, values in axis.items()
    ]


def _merge(points: Iterable[Point]) -> Point:
    merged: Point = {}
    for point in points:
        if twice := merged.keys() & point.keys():
            raise ValueError(f"The axis {sorted(twice)[0]!r} is given twice.")
        merged |= point
    return merged
