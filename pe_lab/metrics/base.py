"""The contract of a metric, and the predictions that its compiled part reads.

A metric is a public class in a file of this folder, or an entry point of an installed package
(pe_lab/runs/plugins/other_packages.py). It extends one of three classes:

    MeasuredMetric  sums over examples in the compiled evaluation; records have its values
    LengthMetric    a value of a run at each length, computed from a record
    RunMetric       one value of a run, computed from a record

Tables and plots read metrics without JAX. A `sums` that needs more than the methods of arrays
imports JAX inside the method.
"""

import functools
import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from jaxtyping import Bool, Float, Int, Shaped

from pe_lab import parts
from pe_lab.runs.errors import Interrupted, UserError, described
from pe_lab.runs.plugins import other_packages
from pe_lab.runs.records.record_schema import JsonObject, RecordRow
from pe_lab.runs.studies import outcomes
from pe_lab.runs.studies.analysis_spec import Extrapolation
from pe_lab.runs.studies.outcomes import FirstStep
from pe_lab.runs.system import jax_settings

Array: TypeAlias = Any  # of NumPy or JAX; jaxtyping's own Array imports JAX


@dataclass(frozen=True, order=True)
class Limit:
    """The longest measured length up to which a run works.

    Attributes:
      side: 1 if this is the longest length that was measured, -1 if the run does not even work at
        this length, which is the shortest.
    """

    length: int
    side: int = 0

    def __str__(self) -> str:
        return f"{('< ', '', '≥ ')[self.side + 1]}{self.length}"


Value = int | float | Limit | FirstStep


# Number, list over target tokens, or [value, examples, successes] of each attribute's values.
MeasuredValue = float | list[int] | list[float] | list[float | None] | list[list[list[int]]]


class Sums(NamedTuple):
    """Sums over examples. The value of most metrics is the total divided by the weight."""

    total: Shaped[Array, "..."]
    weight: Int[Array, "..."]


@dataclass(frozen=True)
class Predictions:
    """The logits of some examples, and the tokens and examples that are counted.

    Attributes:
      target: the label is predicted by the model, end token included.
      answer: the label belongs to the scored answer, end token excluded.
      is_end: the label is the end token of a target.
      index: index of a token in its target.
      right: the largest logit is the label's. False where a logit is not finite.
      losses: cross entropy of counted target tokens; 0 at all other tokens.
      counted: the example is counted. The last batch has examples that are not.
      num_tokens: tokens of the longest example of the whole batch.
      attributes: of each example, in the order of `evaluate.attributes`; None without any.
      largest_attribute: a bound on all attributes.
    """

    logits: Float[Array, "b l v"]
    labels: Int[Array, "b l"]
    target: Bool[Array, "b l"]
    answer: Bool[Array, "b l"]
    is_end: Bool[Array, "b l"]
    index: Int[Array, "b l"]
    right: Bool[Array, "b l"]
    losses: Float[Array, "b l"]
    counted: Bool[Array, "b"]
    num_tokens: int
    attributes: Int[Array, "b a"] | None = None
    largest_attribute: int = 0

    def share_right(self, tokens: Bool[Array, "b l"]) -> Sums:
        """The share of the counted examples that are right at all of these tokens."""
        all_right = (self.right | ~tokens).all(axis=1)
        return Sums((all_right & self.counted).sum(), self.counted.sum())


@dataclass(frozen=True)
class MeasuredRun:
    """A run as metrics read it: its record, and its test rows as trained or with an override.

    Attributes:
      rows: test rows by length, offset and metric.
      extrapolation: the criterion of the study.
    """

    record: JsonObject
    rows: Mapping[tuple[int, int, str], RecordRow]
    extrapolation: Extrapolation = field(default_factory=Extrapolation)

    @functools.cached_property
    def solved(self) -> bool:
        """Whether validation exact match over the training lengths reaches the threshold."""
        return outcomes.is_solved(self.record)

    @functools.cached_property
    def validation_loss(self) -> float:
        """Mean validation loss up to the training length; infinite without one."""
        return outcomes.mean_validation_loss(self.record)

    @property
    def max_length(self) -> int:
        """Training length; 0 for a run that failed."""
        exposure = self.record["exposure"]
        return exposure["max_length"] if exposure else 0

    def lengths(self, offset: int = 0) -> list[int]:
        """Test lengths at an offset."""
        return sorted({length for length, at_offset, _ in self.rows if at_offset == offset})

    def at(self, length: int, offset: int = 0, metric: str = "exact_match") -> float | None:
        """The value of a test row; None without one."""
        row = self.rows.get((length, offset, metric))
        return None if row is None else row["value"]

    def curve(self, offset: int = 0, metric: str = "exact_match") -> list[tuple[int, float]]:
        """The lengths with a value, and their values."""
        values = {length: self.at(length, offset, metric) for length in self.lengths(offset)}
        return [(length, value) for length, value in values.items() if value is not None]


class Metric(ABC):
    """The declarations of all metrics.

    Attributes:
      name: of its file, in records and analysis specs.
      label: in headings and at axes.
      caption: a sentence under its tables.
      by_length: whether it is read at a length.
      by_offset: whether offsets of the positions change it.
      tested_to: multiple of the training length up to which it is tested.
      at_extrapolation: it is read at the point of extrapolation, unless a point is stated.
      of_training: it depends on the training only.
      style: share, number, bits, small, whole or power (formats of numbers), limit, first_step, or
        count.
      range: the smallest and the largest possible value; intervals end there.
      show: the only summary over runs that it has; "" for the one that a table asks for.
    """

    label: str
    caption: str = ""
    lower_is_better: bool = False
    by_length: bool = False
    by_offset: bool = True
    tested_to: float | None = None
    at_extrapolation: bool = False
    of_training: bool = False
    style: str = "share"
    range: tuple[float, float] = (-math.inf, math.inf)
    show: str = ""

    def __init__(self, name: str):
        self.name = name


class LengthMetric(Metric):
    """A metric with a value at each length."""

    by_length = True

    @abstractmethod
    def of_length(self, run: MeasuredRun, length: int, offset: int) -> float | None:
        """The value of a run at a length and an offset; None without one."""


class RunMetric(Metric):
    """A metric with one value a run."""

    @abstractmethod
    def of_run(self, run: MeasuredRun, offset: int) -> Value | None:
        """The value of a run at an offset; None without one."""


class MeasuredMetric(LengthMetric):
    """A metric that the compiled evaluation measures.

    Attributes:
      only_if: a property of tasks, such as "is_text". Only tasks where it is true have the metric.
      needs_finite_logits: it has no value if a logit is not finite.
      is_list: a value is a list, such as a number for each target token. Tables leave it out.
      by_attribute: it is measured if `evaluate.attributes` names attributes. Its value has an entry
        for each of them, and each becomes a row.
    """

    only_if: str = ""
    needs_finite_logits: bool = False
    is_list: bool = False
    by_attribute: bool = False

    @abstractmethod
    def sums(self, predictions: Predictions) -> Sums:
        """The sums over the counted examples of a batch; compiled."""

    def value(self, sums: Sums, num_tokens: int) -> MeasuredValue:
        """The value for a record.

        Args:
          sums: over all examples of an evaluation point, as NumPy arrays.
          num_tokens: tokens of the longest target.
        """
        return float(sums.total) / float(sums.weight)

    def of_length(self, run: MeasuredRun, length: int, offset: int) -> float | None:
        return run.at(length, offset, self.name)


@functools.cache
def by_name() -> Mapping[str, Metric]:
    """All metrics by name, from the files of this folder and of parts, and from packages."""
    metrics = {name: _of_file(name) for name in parts.names("metrics") if name != "base"}
    for name, path in other_packages.installed("metrics").items():
        if name not in metrics and name not in broken():
            metrics[name] = _of_package(name, path)
    return metrics


@functools.cache
def broken() -> Mapping[str, UserError]:
    """The error of each installed metric that is none. Tables go on without it."""
    errors = {}
    for name, path in other_packages.installed("metrics").items():
        try:
            _of_package(name, path)
        except UserError as e:
            errors[name] = e
    return errors


def _of_package(name: str, path: str) -> Metric:
    """The metric of "package.module:Class".

    Raises:
      UserError: it cannot be imported, or it is no metric.
    """
    module, _, class_name = path.partition(":")
    which = f"The metric {name!r} of an installed package, {path},"
    with jax_settings.kept(f"The metric {path}"):
        try:
            cls = getattr(importlib.import_module(module), class_name)
        except Interrupted:
            raise
        except BaseException as e:  # a user's module may raise anything, or call exit
            raise UserError(f"{which} cannot be imported: {described(e)}.") from e
    if not (isinstance(cls, type) and issubclass(cls, Metric)):
        raise UserError(f"{which} must extend a class of {__name__}.")
    return cls(name)


def _of_file(name: str) -> Metric:
    module = importlib.import_module(parts.module("metrics", name) or name)
    classes = []
    for value in vars(module).values():
        is_defined_here = isinstance(value, type) and value.__module__ == module.__name__
        if is_defined_here and issubclass(value, Metric):
            classes.append(value)
    if len(classes) != 1:
        raise TypeError(f"{module.__file__} must define one metric, it defines {len(classes)}.")
    metric: Metric = classes[0](name)
    return metric


def measured_for(task: object, attributes: Collection[str] = ()) -> list[MeasuredMetric]:
    """The metrics that the evaluation of a task measures.

    Args:
      attributes: of examples, by which it measures.
    """
    metrics = []
    for metric in by_name().values():
        if not isinstance(metric, MeasuredMetric) or (metric.by_attribute and not attributes):
            continue
        if not metric.only_if or getattr(task, metric.only_if):
            metrics.append(metric)
    return metrics
