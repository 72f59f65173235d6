"""Sums over a batch by micro-batches of examples of similar length.

Each micro-batch has the shape of its longest example. On a CPU its intermediate values stay in the
cache of the core, and little is computed for padding. The sum is that of the whole batch, in
another order.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

# Tokens of a micro-batch, measured with the model of Ruoss et al. (docs/performance.md).
TOKENS = 640
SHAPES = 5  # the largest number of shapes, each of which is compiled
SHORTEST = 16  # tokens; a shape for fewer is not worth its compilation

Streams = Mapping[str, Any]  # stream -> a pytree of [B, L, ...] leaves


@dataclasses.dataclass(frozen=True)
class Plan:
    """The division of a batch into micro-batches.

    Attributes:
      rows: examples of a micro-batch; it divides the batch size.
      shapes: stream -> the token counts that micro-batches are cut to, the longest last.
    """

    rows: int
    shapes: Mapping[str, tuple[int, ...]]

    @property
    def num_shapes(self) -> int:
        return len(next(iter(self.shapes.values())))


def plan(shapes: Mapping[str, tuple[int, ...]], *, least: int = 0, whole: bool = False) -> Plan:
    """The plan for a batch of streams [B, L].

    Args:
      shapes: stream -> (B, L).
      least: tokens of the shortest example in all streams together: no shape is for fewer.
      whole: do not divide the batch.
    """
    (batch_size, *_), longest = zip(*shapes.values(), strict=True)
    total = sum(longest)
    count = max(1, min(SHAPES, total // SHORTEST))
    most = batch_size if whole else max(1, 1.3 * TOKENS / total)
    rows = max(n for n in range(1, batch_size + 1) if batch_size % n == 0 and n <= most)
    steps = [[math.ceil(n * i / count) for n in longest] for i in range(1, count + 1)]
    used = [counts for counts in steps if sum(counts) >= least]
    return Plan(rows, dict(zip(shapes, zip(*used, strict=True), strict=True)))


def summed(
    plan: Plan, f: Callable[[Streams, Array], Any], streams: Streams, masks: Mapping[str, Array]
) -> Any:
    """The sum over micro-batches of f(streams, number), a pytree.

    Args:
      masks: stream -> [B, L], True at tokens, which come before padding.
    """
    needed = [
        jnp.searchsorted(jnp.asarray(plan.shapes[name]), mask.sum(axis=1))
        for name, mask in masks.items()
    ]
    shape = jnp.stack(needed).max(axis=0)
    order = jnp.argsort(shape)
    split = jax.tree.map(lambda leaf: leaf[order].reshape(-1, plan.rows, *leaf.shape[1:]), streams)
    which = shape[order].reshape(-1, plan.rows).max(axis=1)

    def one(i: int, number: Array) -> Any:
        return _cut(plan, f, i, jax.tree.map(lambda leaf: leaf[number], split), number)

    def add(i: int, number: Array, total: Any) -> Any:
        return jax.tree.map(jnp.add, total, one(i, number))

    if len(which) == plan.num_shapes == 1:
        return one(0, jnp.zeros((), int))
    total = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype),
        jax.eval_shape(functools.partial(one, 0), jnp.zeros((), int)),
    )
    ends = jnp.searchsorted(which, jnp.arange(plan.num_shapes), side="right")
    for i in range(
        plan.num_shapes
    ):  # a loop for each shape: one loop with a switch would copy the sum in every turn
        total = jax.lax.fori_loop(
            ends[i - 1] if i else 0, ends[i], functools.partial(add, i), total
        )
    return total


def _cut(plan: Plan, f: Callable, i: int, micro: Streams, number: Array) -> Any:
    """f of a micro-batch in the i-th shape."""
    return f(
        {
            name: jax.tree.map(lambda leaf, n=plan.shapes[name][i]: leaf[:, :n], leaves)
            for name, leaves in micro.items()
        },
        number,
    )
