"""Lists of items that have several tokens each."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


def joined(
    items: Int[Array, "n w"], widths: Int[Array, "n"], size: int
) -> tuple[Int[Array, "s"], Bool[Array, "s"]]:
    """Concatenate items into `size` tokens and a mask, without the last token, a separator.

    Args:
      widths: the number of tokens of each item; items without tokens come last.
    """
    column = jnp.arange(items.shape[1])[None]
    ends = jnp.cumsum(widths)
    starts = ends - widths
    # Unused columns go out of bounds, where mode="drop" ignores them.
    destination = jnp.where(column < widths[:, None], starts[:, None] + column, size)
    tokens = jnp.zeros(size, items.dtype).at[destination].set(items, mode="drop")
    mask = jnp.arange(size) < ends[-1] - 1
    return jnp.where(mask, tokens, 0), mask
