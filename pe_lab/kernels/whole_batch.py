"""The reference forms of `microbatches`: a batch in one piece."""

import functools
from collections.abc import Callable

import jax
from jaxtyping import Array, PyTree

from pe_lab.kernels import microbatches
from pe_lab.kernels.microbatches import Divisible, Shared, ValueAndGrad

# Short examples of an evaluation are computed in one of a few shorter shapes.
summed = functools.partial(microbatches.summed, whole=True)


def value_and_grad(
    loss: Callable[[PyTree, Divisible, Shared | None], Array],
    shared: Callable[[PyTree, Divisible], tuple[Shared, Shared]],
    *,
    least: int = 0,
) -> ValueAndGrad:
    """`jax.value_and_grad` of the loss; the loss computes by itself what examples share."""
    return jax.value_and_grad(lambda params, batch: loss(params, batch, None))
