"""Sums over a batch by micro-batches of examples of similar length.

Each micro-batch has the shape of its longest example. On a CPU its intermediate values stay in the
cache of the core, and little is computed for padding. The sum is that of the whole batch, in
another order.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

# Tokens of a micro-batch, measured with the model of Ruoss et al. (docs/performance.md).
TOKENS = 640
SHAPES = 5  # the largest number of shapes, each of which is compiled
SHORTEST = 16  # tokens; a shape for fewer is not worth its compilation


@runtime_checkable
class Batch(Protocol):
    """A pytree of examples that can be divided."""

    @property
    def masks(self) -> tuple[Bool[Array, "b _"], ...]:
        """For each stream, [B, L], True at tokens, which come before padding."""

    def select(self, rows: Int[Array, "r"]) -> "Batch":
        """The examples with these indices."""

    def shorten(self, num_tokens: tuple[int, ...]) -> "Batch":
        """The first tokens of each stream."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """The division of a batch into micro-batches.

    Attributes:
      rows: examples of a micro-batch; it divides the batch size.
      shapes: numbers of tokens, one for each stream, that micro-batches are cut to; the longest
        last.
    """

    rows: int
    shapes: tuple[tuple[int, ...], ...]


def plan(batch_size: int, longest: tuple[int, ...], *, least: int = 0, whole: bool = False) -> Plan:
    """The plan for a batch of several streams.

    Args:
      longest: L of each stream.
      least: tokens of the shortest example in all streams together: no shape is for fewer.
      whole: do not divide the batch.
    """
    total = sum(longest)
    count = max(1, min(SHAPES, total // SHORTEST))
    most = batch_size if whole else max(1, 1.3 * TOKENS / total)
    rows = max(n for n in range(1, batch_size + 1) if batch_size % n == 0 and n <= most)
    shapes = [tuple(math.ceil(n * i / count) for n in longest) for i in range(1, count + 1)]
    return Plan(rows, tuple(shape for shape in shapes if sum(shape) >= least))


def summed(f: Callable[[Any], Any], batch: Batch, *, least: int = 0, whole: bool = False) -> Any:
    """The sum of f over micro-batches.

    Args:
      f: micro-batch -> a pytree.
      least, whole: as in `plan`.
    """

    def of_rows(rows: Int[Array, "r"], num_tokens: tuple[int, ...]) -> Any:
        return f(batch.select(rows).shorten(num_tokens))

    return _summed_by_rows(of_rows, batch.masks, least=least, whole=whole)


def value_and_grad(
    loss: Callable[[Any, Any, Any], Any], shared: Callable[[Any, Any, bool], Any], *, least: int = 0
) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Like `jax.value_and_grad`, for a loss that is a sum over examples.

    Args:
      loss: (params, batch, shared values) -> the sum of the examples' losses.
      shared: (params, batch, learned) -> values that all examples share, a dictionary of
        dictionaries. They are computed once, those that depend on parameters (`learned`) and the
        others.
      least: as in `plan`.
    """

    def of_batch(params: Any, batch: Batch) -> tuple[Any, Any]:
        fixed = jax.lax.optimization_barrier(shared(params, batch, False))
        learned, pull_back = jax.vjp(lambda params: shared(params, batch, True), params)

        def of_rows(rows: Int[Array, "r"], num_tokens: tuple[int, ...]) -> Any:
            def part_loss(params: Any, learned: Any) -> Any:
                values = {name: entries | fixed[name] for name, entries in learned.items()}
                # Without the barrier, XLA would compute the shared values of every shape before
                # the loop, and keep them all.
                here, values = jax.lax.optimization_barrier((rows, values))
                return loss(params, batch.select(here).shorten(num_tokens), values)

            return jax.value_and_grad(part_loss, argnums=(0, 1))(params, learned)

        value, (gradient, learned_gradient) = _summed_by_rows(of_rows, batch.masks, least=least)
        return value, jax.tree.map(jnp.add, gradient, *pull_back(learned_gradient))

    return of_batch


def _summed_by_rows(
    f: Callable[[Int[Array, "r"], tuple[int, ...]], Any],
    masks: tuple[Bool[Array, "b _"], ...],
    *,
    least: int,
    whole: bool = False,
) -> Any:
    """The sum of f(indices of examples, their shape) over micro-batches."""
    batch_size = len(masks[0])
    division = plan(batch_size, tuple(m.shape[1] for m in masks), least=least, whole=whole)
    needed = [
        jnp.searchsorted(jnp.asarray(sizes), mask.sum(axis=1))
        for sizes, mask in zip(zip(*division.shapes, strict=True), masks, strict=True)
    ]
    shape = jnp.stack(needed).max(axis=0)  # of each example: the index of the smallest that fits
    order = jnp.argsort(shape)
    parts = order.reshape(-1, division.rows)
    shape_of_part = shape[parts].max(axis=1)

    if len(parts) == len(division.shapes) == 1:
        return f(parts[0], division.shapes[0])

    def add(num_tokens: tuple[int, ...], number: Int[Array, ""], total: Any) -> Any:
        return jax.tree.map(jnp.add, total, f(parts[number], num_tokens))

    result = jax.eval_shape(lambda rows: f(rows, division.shapes[0]), parts[0])
    total = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), result)
    ends = jnp.searchsorted(shape_of_part, jnp.arange(len(division.shapes)), side="right")
    # One loop for each shape: a single loop with a switch would copy the sum in every turn.
    start: Any = 0
    for num_tokens, end in zip(division.shapes, ends, strict=True):
        total = jax.lax.fori_loop(start, end, functools.partial(add, num_tokens), total)
        start = end
    return total
