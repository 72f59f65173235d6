"""The parameters of a model, and the floating-point operations of a training, counted."""

import collections
import dataclasses
from collections.abc import Mapping

import jax
from jaxtyping import PyTree

from pe_lab.model.flops import forward_flops
from pe_lab.runs.records.evaluation_points import grid
from pe_lab.runs.settings.settings import Model
from pe_lab.training.lengths.base import shares
from pe_lab.training.setup import Setup


def num_parameters(params: PyTree) -> int:
    """Return the number of entries of all parameters, which may have no values yet."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def length_shares(setup: Setup, num_steps: int) -> dict[int, float]:
    """Return the relative frequency of each training length, in the first steps of a training."""
    first, last = setup.run.train.min_length, setup.run.train.max_length
    by_index = shares(setup.lengths, first, last, num_steps)
    return dict(zip(range(first, last + 1), by_index.tolist(), strict=True))


def step_flops(setup: Setup, num_steps: int | None = None) -> int:
    """Return the mean floating-point operations of one member's step without padding.

    A step costs three forward passes. If lengths depend on the step, the mean is over the first
    steps of the training.

    Args:
      num_steps: number of these first steps; None: all steps.
    """
    train, model = setup.run.train, setup.run.model
    # Loops are drawn uniformly, so the mean over all numbers is the expected cost.
    fewest_loops = train.min_loops or model.num_loops
    models = []
    for num_loops in range(fewest_loops, model.num_loops + 1):
        models.append(dataclasses.replace(model, num_loops=num_loops))
    num_contexts = train.batch_size
    num_examples = setup.layout.examples_per_context
    if setup.layout.document_mask:  # examples that do not see each other are contexts of one
        num_contexts *= num_examples
        num_examples = 1
    forward, total_share = 0.0, 0.0
    for length, share in length_shares(setup, num_steps or train.steps).items():
        tokens = {stack: num_examples * n for stack, n in setup.num_tokens(length).items()}
        of_models = [_context_flops(setup, looped, tokens) for looped in models]
        forward += share * sum(of_models) / len(of_models)
        total_share += share  # shares are relative and need not sum to 1
    mean_forward = int(forward // total_share)
    return 3 * mean_forward * num_contexts  # a backward pass costs two forward passes


def evaluation_flops(setup: Setup) -> int:
    """Return the floating-point operations of one member's evaluations, those of its curve too."""
    run = setup.run
    evaluate = run.evaluate
    # The curve has points before training, at each multiple of curve_every, and at the end.
    num_curve_points = 1 + -(-run.train.steps // evaluate.curve_every)
    num_examples = collections.Counter(
        dict.fromkeys(evaluate.curve_lengths, num_curve_points * evaluate.curve_examples)
    )
    for point in grid(run):
        num_examples[point.length] += evaluate.num_examples
    return sum(
        count * _context_flops(setup, run.model, setup.num_tokens(length))
        for length, count in num_examples.items()
    )


def _context_flops(setup: Setup, model: Model, num_tokens: Mapping[str, int]) -> int:
    """The floating-point operations of a forward pass over one context."""
    return forward_flops(model, setup.layout.vocabularies(setup.task), num_tokens)
