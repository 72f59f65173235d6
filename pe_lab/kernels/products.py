"""The product of tokens with a matrix, for CPUs, with a gradient of its own.

It replaces `lax.dot_general` in `nnx.Linear`. The forward pass is the same. In the gradient of the
matrix, XLA on a CPU swaps the factors and copies one of them; here the product is written in the
order that needs no copy, and a barrier keeps XLA from changing it.
"""

from collections.abc import Sequence
from typing import Any

import jax
from jax import lax
from jax.typing import DTypeLike
from jaxtyping import Array, Float

Axes = tuple[Sequence[int], Sequence[int]]  # of the left factor, and of the right one
DimensionNumbers = tuple[Axes, Axes]  # that are summed over, and batch axes
_NO_BATCH: tuple[tuple[()], tuple[()]] = ((), ())
_OVER_TOKENS = (((0,), (0,)), _NO_BATCH)  # n of x [n, d] and g [n, f]
_OVER_OUTPUTS = (((1,), (1,)), _NO_BATCH)  # f of g [n, f] and w [d, f]

Saved = tuple[Float[Array, "n d"], Float[Array, "d f"]]


@jax.custom_vjp
def product(
    x: Float[Array, "n d"],
    w: Float[Array, "d f"],
) -> Float[Array, "n f"]:
    """The product x w."""
    return x @ w


def _forward(
    x: Float[Array, "n d"],
    w: Float[Array, "d f"],
) -> tuple[Float[Array, "n f"], Saved]:
    return x @ w, (x, w)


def _backward(
    saved: Saved, g: Float[Array, "n f"]
) -> tuple[Float[Array, "n d"], Float[Array, "d f"]]:
    x, w = saved
    x_is_narrower = x.shape[1] <= g.shape[1]
    if x_is_narrower:
        narrow, wide = x, g
    else:
        narrow, wide = g, x
    w_gradient = lax.dot_general(narrow, wide, _OVER_TOKENS)
    # Without the barrier the compiler swaps the factors and copies one.
    w_gradient = lax.optimization_barrier(w_gradient)
    x_gradient = lax.dot_general(g, w, _OVER_OUTPUTS)
    if not x_is_narrower:
        w_gradient = w_gradient.T
    return x_gradient, w_gradient


product.defvjp(_forward, _backward)


def dot_general(
    x: Float[Array, "..."],
    w: Float[Array, "d f"],
    dimension_numbers: DimensionNumbers,
    precision: jax.lax.PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    **options: Any,
) -> Float[Array, "..."]:
    """`lax.dot_general` as Flax's Linear calls it: the last axis of x with the first of w."""
    last_axis = x.ndim - 1
    last_with_first = (((last_axis,), (0,)), _NO_BATCH)
    has_own_type = preferred_element_type in (None, x.dtype)
    # Products over other axes, or with another result type, are left to JAX.
    if dimension_numbers != last_with_first or not has_own_type:
        options |= {"precision": precision, "preferred_element_type": preferred_element_type}
        return lax.dot_general(x, w, dimension_numbers, **options)
    *axes, channels = x.shape
    tokens = x.reshape(-1, channels)
    out = product(tokens, w)  # without `precision`, which has no effect on a CPU
    return out.reshape(*axes, w.shape[1])
