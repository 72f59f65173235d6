"""The reference forms of `microbatches`: a batch in one piece."""

import functools
from collections.abc import Callable
from typing import Any

import jax

from pe_lab.kernels import microbatches

# Short examples of an evaluation are computed in one of a few shorter shapes.
summed = functools.partial(microbatches.summed, whole=True)


def value_and_grad(
    loss: Callable[[Any, Any, Any], Any], shared: Callable[[Any, Any, bool], Any], *, least: int = 0
) -> Callable[[Any, Any], tuple[Any, Any]]:
    """`jax.value_and_grad` of the loss; the loss computes by itself what examples share."""
    return jax.value_and_grad(lambda params, batch: loss(params, batch, None))
