"""The evaluation of a run group's parameters: programs, and the rows of records."""

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from pe_lab.metrics import exact_match_by_attribute as by_attribute
from pe_lab.metrics.base import measured_for
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_checks
from pe_lab.runs.records.evaluation_points import EvaluationPoint
from pe_lab.runs.records.record_schema import ChanceLevel, RecordRow
from pe_lab.runs.run import Run
from pe_lab.runs.settings.evaluation_settings import Override
from pe_lab.tasks.chance_levels import chance_levels
from pe_lab.training import exposure
from pe_lab.training.checks import out_of_reach
from pe_lab.training.evaluation_data import SPLITS, draw_batch
from pe_lab.training.evaluation_sums import Examples, Measurement, measure_batch
from pe_lab.training.setup import Setup
from pe_lab.training.state import of_member
from pe_lab.training.warm_start import adopt, overridden

CHANCE_LEVEL_EXAMPLES = 1000

# A program serves one model and layout, and one shape of the examples.
ProgramKey = tuple[Run, tuple[tuple[int, ...], ...]]


class Evaluator:
    """Measures a run group's parameters: one program for all lengths, one more for each override.

    An override of the task's arguments alone shares the program of the run if its examples have the
    same shapes.

    Args:
      lengths: all lengths that will be measured.
      compiled: turns a function and example arguments into a compiled one.
    """

    def __init__(self, setup: Setup, lengths: Iterable[int], compiled: Callable):
        self.setup, self.compiled = setup, compiled
        self.bound = max(lengths)
        self.setups = {setup.run: setup}
        self.programs: dict[ProgramKey, Callable] = {}
        # Each split is copied to the device once, not for each point.
        self.data = functools.cache(lambda task, split: jax.device_put(task.data(split)))

    def setup_with(self, override: Override | None) -> Setup:
        """The run group's setup with an override."""
        if override is None:
            return self.setup
        run = self.setup.run.with_override(override)
        # Kept for all points of an override, because building a setup traces a model.
        if run not in self.setups:
            self.setups[run] = overridden(self.setup, override)
        return self.setups[run]

    def measure(
        self, params: PyTree, point: EvaluationPoint, num_examples: int
    ) -> list[Measurement]:
        """Sums over the examples of a point, for each member."""
        setup = self.setup_with(point.override)
        if setup is not self.setup:
            params = adopt(params, self.setup, setup)
        size = setup.run.evaluate.batch_size
        measurements = []
        # The last batch may be larger than what is left; `num_examples` masks the rest.
        for first in range(0, num_examples, size):
            which = Examples(
                split=SPLITS.index(point.split),
                length=point.length,
                offset=point.offset,
                first=first,
                num_examples=num_examples,
            )
            which = jax.tree.map(np.int32, which)  # as the compiled program takes them
            # Drawn by a program of their own, so that overrides of the task share the program of
            # the model.
            examples = draw_batch(
                setup.evaluated_task,
                setup.split_rule,
                self._bound(setup),
                size,
                split=which.split,
                length=which.length,
                first=which.first,
                data=self.data(setup.task, point.split),
            )
            # An array on one device would not fit a program for several.
            arguments = (params, which, jax.tree.map(np.asarray, examples))
            measurement = self._program(setup, arguments)(*arguments)
            measurements.append(jax.tree.map(np.asarray, measurement))
        total = functools.reduce(operator.add, measurements)
        num_members = len(jax.tree.leaves(params)[0])
        return [of_member(total, index) for index in range(num_members)]

    def _program(self, setup: Setup, arguments: tuple[PyTree, ...]) -> Callable:
        """The compiled `measure_batch` of a setup for arguments of these shapes."""
        trained = self.setup.run
        model_run = setup.run
        if not model_run.evaluate.attributes:  # they depend on the arguments of the task
            # The model and the layout are the same for all arguments.
            model_run = dataclasses.replace(
                setup.run,
                task=trained.task,
                evaluated_task=trained.evaluated_task,
            )
        *_, examples = arguments
        shapes = tuple(leaf.shape for leaf in jax.tree.leaves(examples))
        key = (model_run, shapes)
        if key not in self.programs:
            function = functools.partial(measure_batch, setup, self._bound(setup))
            self.programs[key] = self.compiled(function, *arguments)
        return self.programs[key]

    def _bound(self, setup: Setup) -> int:
        """The longest length that is measured with a setup's task."""
        longest = setup.task.max_length
        if longest is None:
            return self.bound
        return min(self.bound, longest)

    def rows(self, params: PyTree, points: Iterable[EvaluationPoint]) -> list[list[RecordRow]]:
        """The record rows of all points, one list for each member.

        Each row has the digests of the code that measured it.
        """
        num_members = len(jax.tree.leaves(params)[0])
        count = self.setup.run.evaluate.num_examples
        rows: list[list[RecordRow]] = [[] for _ in range(num_members)]
        for point in points:
            setup = self.setup_with(point.override)
            sources = setup.run.sources()
            reason = out_of_reach(setup, point.length, point.offset)
            if reason is None:
                measurements = self.measure(params, point, count)
                point_rows = [_rows(setup, member, point, count) for member in measurements]
            else:
                # One reason for all members: it depends on the setup alone.
                point_rows = [_rows_without_values(setup, point, reason)] * num_members
            for member_rows, new_rows in zip(rows, point_rows, strict=True):
                member_rows.extend({**row, "sources": sources} for row in new_rows)
        return rows

    def chance_levels(self, lengths: Iterable[int]) -> list[ChanceLevel]:
        """Chance levels of the task at test lengths."""
        lengths = sorted(set(lengths))
        if not lengths:
            return []
        data = self.data(self.setup.task, "test")
        return chance_levels(self.setup.evaluated_task, lengths, CHANCE_LEVEL_EXAMPLES, data)


def _rows_without_values(setup: Setup, point: EvaluationPoint, reason: str) -> list[RecordRow]:
    """The rows of a point that cannot be measured."""
    reveals_length = exposure.reveals_target_length(setup)
    row = functools.partial(
        point.row,
        value=None,
        count=0,
        reason=reason,
        reveals_target_length=reveals_length,
    )
    names = setup.run.evaluate.attributes
    of_attributes = [row(by_attribute.METRIC, attribute=name) for name in names]
    return [row("exact_match"), *of_attributes]


def _measured(metric: str, value: object) -> object:
    """Return the value of a metric for a record, with numbers of NumPy as Python's.

    Raises:
      UserError: it is no finite number and no list of numbers, so no reader would accept it.
    """
    if isinstance(value, np.floating | np.integer):
        value = value.item()
    if value is None or not record_checks.is_measured(value):
        raise UserError(f"The metric {metric!r} has the value {value!r:.100}, which is no number.")
    return value


def _rows(
    setup: Setup, measured: Measurement, point: EvaluationPoint, count: int
) -> list[RecordRow]:
    """The rows of one member at a point."""
    sums = measured.sums
    not_finite = int(sums.not_finite)
    reason = None
    if not_finite:
        reason = f"the logits of {not_finite} of {count} examples are not finite"
    # end_token is a bool, which counts as one token.
    num_tokens = setup.task.target_bound(point.length) + setup.run.layout.end_token
    values: dict[str, Any] = {}
    names = setup.run.evaluate.attributes
    for metric in measured_for(setup.task, names):
        metric_sums = sums.metrics[metric.name]
        if not_finite and metric.needs_finite_logits:
            values[metric.name] = None
        else:
            values[metric.name] = _measured(metric.name, metric.value(metric_sums, num_tokens))
    values["overlap"] = int(measured.overlap) / count
    reveals_length = exposure.reveals_target_length(setup)
    rows = []
    for name, value in values.items():
        row = functools.partial(
            point.row,
            name,
            count=count,
            reason=reason if value is None else None,
            reveals_target_length=reveals_length,
        )
        if name == by_attribute.METRIC:
            for attribute, value_of_attribute in zip(names, value, strict=True):
                attribute_row = row(value=value_of_attribute, attribute=attribute)
                attribute_row["attribute_label"] = setup.task.attributes[attribute].label
                rows.append(attribute_row)
        else:
            rows.append(row(value=value))
    return rows
