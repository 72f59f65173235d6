"""The norm of the loss's gradient for examples of one length, before training and through it."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from pe_lab.contrib.inspection.trained.examples import Scalar
from pe_lab.runs.records.record_schema import Record
from pe_lab.training import batches
from pe_lab.training.batches import ModelBatch
from pe_lab.training.random_keys import EXAMPLES, POSITIONS, fold, stream_key
from pe_lab.training.setup import Setup
from pe_lab.training.step import loss_and_gradient
from pe_lab.training.trained_runs import load, params_through_training


@dataclasses.dataclass(frozen=True)
class GradientNorm:
    """The norm of the gradient of all parameters, before it is clipped.

    Attributes:
      step: steps trained.
      length: of all examples of the batch.
    """

    step: int
    length: int
    norm: float


def before_training(setup: Setup, lengths: Sequence[int], seed: int = 0) -> list[GradientNorm]:
    """The norms of the initial parameters of a seed; lengths may exceed the trained ones."""
    params = jax.jit(setup.initial_params)(seed)
    return list(_norms(_norm_of(setup, max(lengths)), 0, params, lengths))


def through_training(folder: Path, record: Record, lengths: Sequence[int]) -> list[GradientNorm]:
    """The norms at each point of a run's curve, of the study in `folder`.

    Raises:
      UserError: the run kept no parameters of its curve (config.checkpoints.keep_curve).
    """
    trained = load(folder, record["run_id"])
    norm = _norm_of(trained.setup, max(lengths))
    norms: list[GradientNorm] = []
    for step, params in params_through_training(folder, record):
        norms += _norms(norm, step, params, lengths)
    return norms


def _norms(
    norm: Callable[[PyTree, Scalar], Array], step: int, params: PyTree, lengths: Sequence[int]
) -> Iterator[GradientNorm]:
    for length in lengths:
        yield GradientNorm(step, length, float(norm(params, jnp.asarray(length))))


def _norm_of(setup: Setup, bound: int) -> Callable[[PyTree, Scalar], Array]:
    """The compiled function of parameters and a length up to `bound`."""
    data = setup.data("train")
    return jax.jit(functools.partial(_gradient_norm, setup, bound, data))


def _gradient_norm(
    setup: Setup, bound: int, data: PyTree, params: PyTree, length: Scalar
) -> Float[Array, ""]:
    """The norm for the first batch of the data seed, with all examples at one length."""
    key = jax.random.key(setup.run.data_seed)
    index = jnp.arange(setup.run.train.batch_size * setup.layout.examples_per_context)
    lengths = jnp.full(index.shape, length)
    example_keys = fold(stream_key(key, EXAMPLES), index)
    examples = batches.draw_examples(setup, example_keys, lengths, bound, data)
    position_keys = fold(stream_key(key, POSITIONS), index)
    contexts, streams = batches.add_positions(setup, examples, position_keys, train=True)
    weights = batches.loss_weights(setup, contexts)
    batch = ModelBatch(streams, contexts.labels, weights)
    _, gradient = loss_and_gradient(setup)(params, batch)
    return optax.tree.norm(gradient)
