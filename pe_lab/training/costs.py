"""The parameters of a model, and the floating-point operations of a training, counted.

Short convolutions are no matrix products and do not count.
"""

import collections
import dataclasses
from collections.abc import Mapping

import jax
from jaxtyping import PyTree

from pe_lab.model.streams import answering_stack
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


def forward_flops(
    model: Model,
    vocabularies: Mapping[str, int],
    lengths: Mapping[str, int],
) -> int:
    """Floating-point operations of the matrix products of one example without padding.

    Args:
      vocabularies, lengths: of each stack; the stack that gives the logits is last.
    """
    width = model.width
    depth = model.num_layers * model.num_loops
    num_matrices = 3 if model.activation in ("swiglu", "geglu") else 2
    projections = 4 * width**2  # queries, keys, values and outputs
    feedforward = num_matrices * width * model.feedforward_width
    products = 0
    for length in lengths.values():
        # All keys count, also those that a causal mask hides.
        pairs = 2 * length * width  # q·k and the sum of values, for one query
        mixing = projections + pairs
        if model.mixer != "attention":
            num_gates = {"lstm": 4, "gru": 3}[model.mixer]
            mixing = 2 * num_gates * width**2  # of inputs and of states
        products += length * depth * (mixing + feedforward)
        num_shifts = {"none": 0, "keys": 1, "values": 1, "both": 2}[model.token_shift]
        products += length * depth * num_shifts * width * model.num_heads
        gates = {"none": 0, "head": model.num_heads, "element": width}[model.output_gate]
        products += length * depth * width * gates
        if model.loop_injection == "linear":
            products += length * model.num_loops * 2 * width**2
    if len(lengths) == 2:
        # Cross-attention: queries, outputs and products for every loop; keys and values once.
        source, target = lengths["encoder"], lengths["decoder"]
        products += depth * target * width * gates
        queries = depth * target * (width + source)
        keys = model.num_layers * width * source
        products += 2 * width * (queries + keys)
    answering = answering_stack(lengths)
    output = lengths[answering] * width * vocabularies[answering]
    return 2 * (products + output)  # a product and a sum
