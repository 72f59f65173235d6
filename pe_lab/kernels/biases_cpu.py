"""Biases that examples or heads share, on CPUs: their order of axes and their gradient.

Shape letters: B batch, H heads, L queries, S keys.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

PAIRS = (1, 0, 3, 2)  # from [B, H, L, S] to [H, B, S, L], and back

Bias = Float[Array, "_ _ s l"]  # as attention on a CPU reads it
Logits = Float[Array, "b h l s"]  # as `attend` has them
SharedBias = Float[Array, "_ _ l s"]  # of one example or head for all, or of each


def stored_bias(bias: SharedBias) -> Bias:
    """A bias that many micro-batches read, with its axes in the order of the products here.

    One transposition before the loop replaces one in each iteration: the transpositions of
    `cut_bias` and `attention` cancel.
    """
    return jnp.transpose(bias, PAIRS)


def cut_bias(
    bias: Float[Array, "_ _ _ _"], num_queries: int, num_keys: int
) -> Float[Array, "_ _ l s"]:
    """The first tokens of a stored bias, as `attention` takes it."""
    first = bias[:, :, :num_keys, :num_queries]  # a stored bias has keys before queries
    return jnp.transpose(first, PAIRS)


def sum_shared(gradient: Float[Array, "_ _ _ _"], shape: tuple[int, ...]) -> Array:
    """The gradient of a bias of this shape, whose first two axes are of size 1 where shared."""
    for axis, size in enumerate(shape[:2]):
        if size == gradient.shape[axis]:
            continue
        # A product with ones takes a tenth of the time of a sum on a CPU.
        ones = jnp.ones(gradient.shape[axis], jnp.float32)
        total = jnp.tensordot(ones, gradient, (0, axis), precision="highest")
        gradient = jnp.expand_dims(total, axis)
    return gradient


@jax.custom_vjp
def add_bias(s: Logits, bias: SharedBias) -> Logits:
    """The sum. A bias that examples or heads share gets its gradient by a product with ones."""
    return s + bias


def _add_bias_forward(s: Logits, bias: SharedBias) -> tuple[Logits, Float[Array, "_ _ 0"]]:
    shared_axes = bias.shape[:2]
    shape_of_bias = jnp.zeros((*shared_axes, 0))  # the gradient needs no values of the bias
    return s + bias, shape_of_bias


def _add_bias_backward(
    shape_of_bias: Float[Array, "_ _ 0"], g: Logits
) -> tuple[Logits, SharedBias]:
    return g, sum_shared(g, shape_of_bias.shape)


add_bias.defvjp(_add_bias_forward, _add_bias_backward)
