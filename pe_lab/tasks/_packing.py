"""Sequences of items that have different numbers of tokens.

Shape letters: N items, W tokens of an item, S tokens of the sequence.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


def packing_order(is_used: Bool[Array, "n w"]) -> Int[Array, "s"]:
    """Return the order of all N * W tokens that puts the used ones first, else unchanged."""
    is_unused = ~is_used.reshape(-1)
    return jnp.argsort(is_unused, stable=True)  # stable, so used tokens keep their order


def packed(
    items: Int[Array, "n w"], is_used: Bool[Array, "n w"]
) -> tuple[Int[Array, "s"], Bool[Array, "s"]]:
    """Concatenate the used tokens of items into N * W tokens and a mask."""
    tokens = items.reshape(-1)[packing_order(is_used)]
    mask = jnp.arange(tokens.size) < is_used.sum()
    return jnp.where(mask, tokens, 0), mask
