"""Lists of items of several tokens each."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


def joined(
    items: Int[Array, "n w"], widths: Int[Array, "n"], size: int
) -> tuple[Int[Array, "s"], Bool[Array, "s"]]:
    """The items one behind the other in `size` places, and where there is one. The last token of
    the last is left out: it parts two.

    Args:
      widths: tokens of each item; items of none stand behind.
    """
    column, ends = jnp.arange(items.shape[1])[None], jnp.cumsum(widths)
    place = jnp.where(column < widths[:, None], (ends - widths)[:, None] + column, size)
    tokens = jnp.zeros(size, items.dtype).at[place].set(items, mode="drop")
    mask = jnp.arange(size) < ends[-1] - 1
    return jnp.where(mask, tokens, 0), mask
