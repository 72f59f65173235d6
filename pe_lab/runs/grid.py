"""The axes of a sweep and how they combine to points.

    grid.product(
        {"model.encodings": [(dict(name="rope"),), grid.labelled("no encoding", ())]},
        grid.zipped({"train.max_length": [8, 16], "train.steps": [1000, 2000]}),
        {"seed": range(3)},
    )

An axis is a mapping from a dotted path of the config to its values. A point is a mapping from
paths to choices. A choice is a value with the label that tables show.
"""

import copy
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.settings.labels import label
from pe_lab.runs.settings.typed_values import plain

EVALUATED = "evaluated"  # the first word of an axis of overrides


@dataclass(frozen=True)
class Choice:
    """One value of an axis and its label in tables."""

    value: object
    label: str


Point = dict[str, Choice]
Axis = Mapping[str, Iterable[object]] | list[Point]


def labelled(label: str, value: object) -> Choice:
    """Return a value with a label of your own.

    The label "" is not shown. It must not be the only difference between two variants.
    """
    if not isinstance(label, str):
        raise UserError(f"A label of grid.labelled must be a text, got {label!r}.")
    return Choice(value, label)


def overrides(axes: Mapping[str, Iterable[object]]) -> tuple[dict[str, object], ...]:
    """Return the evaluation overrides of every combination of the axes' values.

    Tables have the axes as dimensions, "evaluated operands" for the values of "task.operands".

    Args:
      axes: values by "task." and an argument of the task, "num_loops", "logit_temperature",
        "positions" or "encodings".
    """
    specs = []
    for point in product(axes):
        words: list[str] = []
        axes_labels: dict[str, str] = {}
        for path, choice in point.items():
            name = path.removeprefix("task.")
            words.append(f"{name}={choice.label}")
            axes_labels[f"{EVALUATED} {name}"] = choice.label
        values: dict[str, object] = {}
        groups: dict[str, dict[str, object]] = {}
        for path, choice in point.items():
            group, _, argument = path.rpartition(".")
            target = groups.setdefault(group, {}) if group else values
            target[argument] = choice.value
        specs.append({"label": ", ".join(words), "axes": axes_labels, **values, **groups})
    return tuple(specs)


def product(*axes: Axis) -> list[Point]:
    """Return every combination of the axes. The last axis changes fastest.

    An axis may be a list of points.
    """
    parts = [part for axis in axes for part in _parts(axis)]
    return [_merge(points) for points in itertools.product(*parts)]


def zipped(*axes: Axis) -> list[Point]:
    """Return the first values of all axes together, then the second values, and so on.

    Raises:
      ValueError: the axes have different numbers of values.
    """
    parts = [part for axis in axes for part in _parts(axis)]
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise ValueError(f"zipped axes must be equally long, got {sorted(lengths)} values.")
    return [_merge(points) for points in zip(*parts, strict=True)]


def concat(*parts: list[Point]) -> list[Point]:
    """Return the points of several lists in one list."""
    return [point for part in parts for point in part]


def with_seeds(points: list[Point], number: int) -> list[Point]:
    """Return the points with the seeds 0 to `number` - 1 in place of their own."""
    without_seeds: dict[str, Point] = {}
    for point in points:
        other_axes = {path: choice for path, choice in point.items() if path != "seed"}
        without_seeds.setdefault(repr(other_axes), other_axes)  # its values may not be hashable
    return product(list(without_seeds.values()), {"seed": range(number)})


def values_at(point: Point, values: dict[str, object]) -> dict[str, object]:
    """Return the values of a config with the choices of a point.

    Raises:
      UserError: a path of the point names no key.
    """
    # Copies: several points may share a plugin, and an axis may set one of its arguments.
    point_values = copy.deepcopy(values)
    for path, choice in point.items():
        _set(point_values, path, copy.deepcopy(choice.value))
    return point_values


def _set(values: dict[str, object], path: str, value: object) -> None:
    """Set the value at a dotted path; a number names one of several plugins.

    A plugin may get a new argument. A config gets no new key.
    """
    *parents, last = path.split(".")
    inner: dict[str, object] | Sequence[object] = values
    walked = "config"
    for key in parents:
        keys = inner if isinstance(inner, dict) else {str(i): part for i, part in enumerate(inner)}
        if key not in keys:
            raise unknown(f"The axis {path!r} leads nowhere: {walked}", key, keys)
        part = keys[key]
        if not isinstance(part, dict | list | tuple):
            raise UserError(
                f"The axis {path!r} leads nowhere: {walked}.{key} is a value, not a group of keys."
            )
        inner = part
        walked = f"{walked}.{key}"
    if not isinstance(inner, dict):
        raise UserError(
            f"The axis {path!r} leads nowhere: {walked} holds several values; name an argument of "
            f"one, as in {walked}.0.{last}."
        )
    if last not in inner and "name" not in inner:
        raise unknown(f"The axis {path!r} leads nowhere: {walked}", last, inner)
    inner[last] = value


def _parts(axis: Axis) -> list[list[Point]]:
    """Return one list of points for each path of an axis."""
    if isinstance(axis, list):
        return [axis]
    parts = []
    for path, values in axis.items():
        if not isinstance(path, str):
            raise TypeError(f"an axis is named by a path, such as 'train.steps', got {path!r}")
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise TypeError(f"the axis {path!r} needs a list of values, got {values!r}")
        parts.append([{path: _choice(value)} for value in values])
    return parts


def _choice(value: object) -> Choice:
    if isinstance(value, Choice):
        return Choice(plain(value.value), value.label)
    plain_value = plain(value)
    return Choice(plain_value, label(plain_value))


def _merge(points: Iterable[Point]) -> Point:
    merged_point: Point = {}
    for point in points:
        repeated_axes = merged_point.keys() & point.keys()
        if repeated_axes:
            raise ValueError(f"The axis {min(repeated_axes)!r} is given twice.")
        merged_point |= point
    return merged_point
