"""Checks that the parts of a setup fit together."""

import functools
import math

import jax
import jax.numpy as jnp

from pe_lab.metrics import base as metrics
from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.run import Run
from pe_lab.tasks.layouts import DEFAULT_STRUCTURES
from pe_lab.training import costs, drawn_examples, exposure
from pe_lab.training.setup import Placement, Setup


def check(setup: Setup, trained: bool) -> None:
    """Check lengths, encodings and positions.

    Args:
      trained: the task must have all lengths, and training lengths must have positions.

    Raises:
      UserError: something does not fit.
    """
    if trained:
        check_lengths(setup)
        _check_distribution(setup)
    _check_prompt(setup)
    for placement in setup.placements:
        _check_encoding(setup, placement)
    for placement in setup.placements:
        _check_axes(setup, placement)
    _check_structure(setup)
    drawn_examples.check(setup)
    for error in metrics.broken().values():  # this run could not be measured by it
        raise error
    run = setup.run
    revealing = exposure.revealing_schemes(setup, "answer")
    if revealing:
        names = " and ".join(revealing)
        raise UserError(
            f"{run.task.name} cannot have the positions {names} in the layout "
            f"{run.layout.name}: the position of a target token would reveal the answer."
        )
    reason = out_of_reach(setup, run.train.max_length, 0, train=True)
    if trained and reason is not None:
        raise UserError(f"{reason}: training there would teach nothing.")


def out_of_reach(
    setup: Setup,
    length: int,
    offset: int,
    *,
    train: bool = False,
) -> str | None:
    """Return why examples of a length cannot have positions or encodings; None if they can."""
    task = setup.task
    if length < task.min_length or length > (task.max_length or length):
        return f"{setup.run.task.name} with these arguments has no examples of length {length}"
    tokens = exposure.context_lengths(setup, length, train)
    for placement in setup.placements:
        if not placement.reads_positions:
            continue
        # Cross-attention reads the positions of both stacks.
        num_tokens = max(tokens[stack] for stack in placement.streams)
        num_positions = setup.schemes[placement.site.scheme].max_length
        if num_positions is not None and num_tokens > num_positions:
            name = setup.scheme_names[placement.site.scheme]
            return f"{name} has {num_positions} positions; length {length} asks for {num_tokens}"
        largest = exposure.largest_position(setup, placement, length, train) + offset
        table_size = placement.encoding.requirements.max_positions
        if table_size is not None and largest >= table_size:
            return (
                f"{placement.name} has positions 0..{table_size - 1}; length {length} asks for "
                f"position {largest:g}"
            )
    return None


def check_lengths(setup: Setup) -> None:
    """Check that the task has examples of the lengths of training and evaluation.

    Raises:
      UserError: it has no examples of one of them.
    """
    run, task = setup.run, setup.task
    shortest = min(run.train.min_length, *run.evaluate.all_lengths)
    longest = max(run.train.max_length, *run.evaluate.all_lengths)
    if shortest < task.min_length:
        raise UserError(
            f"{run.task.name} has no examples shorter than {task.min_length} {task.length_name}, "
            f"got length {shortest} in {_settings_with(run, shortest)}."
        )
    for component in task.components:
        most = component.max_train_length
        if most is not None and run.train.max_length > most:
            raise UserError(
                f"{run.task.name} with these arguments trains with at most {most} "
                f"{task.length_name}: config.train.max_length must not be {run.train.max_length}."
            )
    if task.max_length is not None and longest > task.max_length:
        raise UserError(
            f"{run.task.name} with these arguments has no examples longer than "
            f"{task.max_length} {task.length_name}, got length {longest} in "
            f"{_settings_with(run, longest)}."
        )


def _settings_with(run: Run, length: int) -> str:
    """Return the names of the settings that have a length."""
    lengths = {
        "train.min_length": (run.train.min_length,),
        "train.max_length": (run.train.max_length,),
        "evaluate.lengths": run.evaluate.lengths,
        "evaluate.validation_lengths": run.evaluate.validation_lengths,
        "evaluate.curve_lengths": run.evaluate.curve_lengths,
    }
    return " and ".join(f"config.{name}" for name in lengths if length in lengths[name])


def _check_prompt(setup: Setup) -> None:
    run = setup.run
    for stack, num_tokens in setup.num_tokens(run.train.max_length).items():
        if num_tokens == 0:
            raise UserError(
                f"{run.task.name} has no prompt, so the {stack} of the layout {run.layout.name} "
                "would have nothing to read."
            )


def _check_distribution(setup: Setup) -> None:
    """Check that training draws its longest length and the validation lengths."""
    train, name = setup.run.train, setup.run.train.lengths.name
    if setup.lengths.depends_on_step and train.num_examples is not None:
        raise UserError(
            f"config.train.lengths cannot be {name}, which depends on the step, with a finite "
            f"training set: config.train.num_examples must be None."
        )
    if train.length_per == "step" and train.num_examples is not None:
        raise UserError(
            'config.train.length_per cannot be "step" with a finite training set, whose examples '
            "keep their lengths: config.train.num_examples must be None."
        )
    try:
        shares = costs.length_shares(setup, train.steps)
    except ValueError as e:
        raise UserError(one_line(e)) from e
    if any(math.isnan(share) for share in shares.values()):
        raise UserError(
            f"config.train.lengths: {name} has no length from {train.min_length} to "
            f"{train.max_length} in some steps."
        )
    drawn_lengths = [length for length, share in shares.items() if share > 0]
    if train.max_length not in drawn_lengths:
        raise UserError(
            f"config.train.lengths: {name} never draws config.train.max_length {train.max_length} "
            f"in {train.steps} steps; its longest length is {max(drawn_lengths)}."
        )
    for length in setup.run.evaluate.validation_lengths:
        if length in shares and length not in drawn_lengths:
            raise UserError(
                f"config.evaluate.validation_lengths must hold trained lengths: {name} never "
                f"draws {length}."
            )


def _check_encoding(setup: Setup, placement: Placement) -> None:
    run, needs = setup.run, placement.encoding.requirements
    packed = run.layout.examples_per_context > 1
    scheme = setup.schemes[placement.site.scheme]
    if placement.reads_positions and scheme.real and needs.whole_positions:
        name = setup.scheme_names[placement.site.scheme]
        raise UserError(
            f"{placement.name} needs whole positions; the scheme {name} gives fractions."
        )
    if needs.reads_length and packed:
        raise UserError(
            f"{placement.name} reads an example's length with these arguments, so "
            "config.layout.examples_per_context must be 1."
        )


def _check_axes(setup: Setup, placement: Placement) -> None:
    """The encoding reads as many axes as its scheme gives, or one of them."""
    scheme = setup.scheme_names[placement.site.scheme]
    num_axes = setup.schemes[placement.site.scheme].num_axes
    name, axis = placement.name, placement.site.axis
    reads = placement.encoding.requirements.num_axes
    if axis is not None and reads > 1:
        raise UserError(f"{name} cannot act on axis {axis} of positions: it reads {_axes(reads)}.")
    if axis is not None and (num_axes == 1 or axis >= num_axes):
        raise UserError(
            f"{name} cannot act on axis {axis} of positions: the scheme {scheme} gives "
            f"{_axes(num_axes)}."
        )
    if axis is None and placement.reads_positions and reads != num_axes:
        advice = f": choose one, dict(name={name!r}, axis=0)" if reads == 1 else ""
        raise UserError(
            f"{name} reads positions of {_axes(reads)}, the scheme {scheme} gives "
            f"{_axes(num_axes)}{advice}."
        )


def _check_structure(setup: Setup) -> None:
    """The task has the structures that the position schemes depend on."""
    for scheme, name in zip(setup.schemes, setup.scheme_names, strict=True):
        if scheme.follows is None or scheme.follows in DEFAULT_STRUCTURES:
            continue
        task = setup.task
        sample = functools.partial(task.sample, bound=task.min_length)
        # The data is an argument, because a traced index cannot read a NumPy array.
        data = task.data("train")
        # Only shapes are traced, so nothing is drawn here.
        example = jax.eval_shape(sample, jax.random.key(0), jnp.int32(task.min_length), data=data)
        if scheme.follows not in example.structure:
            raise UserError(
                f"{setup.run.task.name} has no structure {scheme.follows!r}, which the scheme "
                f"{name} follows."
            )


def _axes(number: int) -> str:
    return "one axis" if number == 1 else f"{number} axes"
