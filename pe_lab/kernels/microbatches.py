"""Sums over a batch by micro-batches of examples of similar length.

Each micro-batch has the shape of its longest example. On a CPU its intermediate values stay in the
cache of the core, and little is computed for padding. The sum has the terms of the whole batch in
another order.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Int, PyTree

# Tokens of a micro-batch, measured with the model of Ruoss et al. (docs/performance.md).
TOKENS = 640
SHAPES = 5  # the largest number of shapes, each of which is compiled
SHORTEST = 16  # tokens; a shape for fewer is not worth its compilation


Shape = tuple[int, ...]  # numbers of tokens, one for each stream
Rows = Int[Array, "r"]  # indices of examples
Masks = tuple[Bool[Array, "b _"], ...]  # True at tokens, one for each stream


@runtime_checkable
class Divisible(Protocol):
    """A pytree of examples that can be divided."""

    @property
    def masks(self) -> Masks:
        """The masks of all streams; tokens come before padding."""

    def select(self, rows: Rows) -> "Divisible":
        """The examples with these indices."""

    def shorten(self, num_tokens: Shape) -> "Divisible":
        """The first tokens of each stream."""


Shared = Mapping[str, Mapping[Hashable, Array]]  # values that all examples share, by stack
ValueAndGrad = Callable[[PyTree, Divisible], tuple[Array, PyTree]]  # of params and a batch


@dataclasses.dataclass(frozen=True)
class Division:
    """The division of a batch into micro-batches.

    Attributes:
      rows: examples of a micro-batch; it divides the batch size.
      shapes: micro-batches are cut to one of these; the longest is last.
    """

    rows: int
    shapes: tuple[Shape, ...]


def plan(
    batch_size: int,
    longest: Shape,
    *,
    least: int = 0,
    whole: bool = False,
) -> Division:
    """The plan for a batch of several streams.

    Args:
      longest: L of each stream.
      least: tokens of the shortest example in all streams together: no shape is for fewer.
      whole: do not divide the batch.
    """
    total = sum(longest)
    least = min(least, total)  # there is always a shape of the longest example
    most_rows = batch_size
    if not whole:
        most_rows = max(1, math.floor(1.3 * TOKENS / total))
    divisors = [n for n in range(1, most_rows + 1) if batch_size % n == 0]
    count = min(SHAPES, total // SHORTEST)
    count = max(1, count)
    shapes = []
    for i in range(1, count + 1):
        shape = tuple(math.ceil(length * i / count) for length in longest)
        if sum(shape) >= least:
            shapes.append(shape)
    return Division(rows=max(divisors), shapes=tuple(shapes))


def summed(
    f: Callable[[Divisible], PyTree],
    batch: Divisible,
    *,
    least: int = 0,
    whole: bool = False,
) -> PyTree:
    """The sum of f over micro-batches.

    Args:
      f: micro-batch -> a pytree.
      least, whole: as in `plan`.
    """

    def of_rows(rows: Rows, shape: Shape) -> PyTree:
        part = batch.select(rows)
        return f(part.shorten(shape))

    return _summed_by_rows(of_rows, batch.masks, least=least, whole=whole)


def value_and_grad(
    loss: Callable[[PyTree, Divisible, Shared | None], Array],
    shared: Callable[[PyTree, Divisible], tuple[Shared, Shared]],
    *,
    least: int = 0,
) -> ValueAndGrad:
    """Like `jax.value_and_grad`, for a loss that is a sum over examples.

    Args:
      loss: (params, batch, shared values) -> the sum of the examples' losses.
      shared: (params, batch) -> values that all examples share, first those that depend on
        parameters and then the others, of the same stacks. They are computed once.
      least: as in `plan`.
    """

    def of_batch(params: PyTree, batch: Divisible) -> tuple[Array, PyTree]:
        learned, pull_back, fixed = jax.vjp(lambda p: shared(p, batch), params, has_aux=True)
        fixed = jax.lax.optimization_barrier(fixed)

        def part_loss(params: PyTree, learned: Shared, rows: Rows, shape: Shape) -> Array:
            values = {name: entries | fixed[name] for name, entries in learned.items()}
            # Without the barrier, XLA would compute the shared values of every shape before the
            # loop, and keep them all.
            rows, values = jax.lax.optimization_barrier((rows, values))
            part = batch.select(rows)
            return loss(params, part.shorten(shape), values)

        of_part = jax.value_and_grad(part_loss, argnums=(0, 1))
        of_rows = functools.partial(of_part, params, learned)
        value, gradients = _summed_by_rows(of_rows, batch.masks, least=least)
        gradient, learned_gradient = gradients
        # The shared values are differentiated once, with the sum of their gradients.
        (from_learned,) = pull_back(learned_gradient)
        gradient = jax.tree.map(jnp.add, gradient, from_learned)
        return value, gradient

    return of_batch


def _summed_by_rows(
    f: Callable[[Rows, Shape], PyTree],
    masks: Masks,
    *,
    least: int,
    whole: bool = False,
) -> PyTree:
    """The sum of f(indices of examples, their shape) over micro-batches."""
    batch_size = len(masks[0])
    longest = tuple(mask.shape[1] for mask in masks)
    division = plan(batch_size, longest, least=least, whole=whole)
    sizes_by_stream = zip(*division.shapes, strict=True)
    smallest_by_stream = []  # index of the smallest shape that fits an example
    for sizes, mask in zip(sizes_by_stream, masks, strict=True):
        num_tokens = mask.sum(axis=1)
        smallest = jnp.searchsorted(jnp.asarray(sizes), num_tokens)
        smallest_by_stream.append(smallest)
    smallest = jnp.stack(smallest_by_stream).max(axis=0)
    order = jnp.argsort(smallest)
    parts = order.reshape(-1, division.rows)
    shape_of_part = smallest[parts].max(axis=1)

    if len(parts) == len(division.shapes) == 1:  # a loop of one turn would only cost time
        return f(parts[0], division.shapes[0])

    def add(shape: Shape, number: Int[Array, ""], total: PyTree) -> PyTree:
        part_sum = f(parts[number], shape)
        return jax.tree.map(jnp.add, total, part_sum)

    shortest = division.shapes[0]  # the sum has the same structure for all shapes
    result = jax.eval_shape(lambda rows: f(rows, shortest), parts[0])
    total = jax.tree.map(jnp.zeros_like, result)
    # Parts are sorted by shape, so each shape has one range of them.
    numbers = jnp.arange(len(division.shapes))
    ends = jnp.searchsorted(shape_of_part, numbers, side="right")
    # One loop for each shape: a single loop with a switch would copy the sum in every turn.
    start: Int[ArrayLike, ""] = 0
    for shape, end in zip(division.shapes, ends, strict=True):
        add_part = functools.partial(add, shape)
        total = jax.lax.fori_loop(start, end, add_part, total)
        start = end
    return total
