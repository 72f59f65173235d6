"""Distinct random keys for recall tasks, from alphabets that are too large to sort."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from pe_lab.tasks.base import RandomKey, Scalar

_UNUSED = 2**30  # larger than any value


def distinct(key: RandomKey, number: int, choices: int | Scalar) -> Int[Array, "n"]:
    """Draw `number` different values of 0..choices-1, all ordered selections equally likely.

    The first values do not depend on `number`. Values after the first `choices` ones are arbitrary.

    Value i is uniform among the values that the first i ones leave. If r is its random rank among
    these, and s the earlier values in ascending order, the value is r + #{j: s[j] - j <= r}.
    """
    index = jnp.arange(number)
    ranks = jax.random.randint(key, (number,), 0, jnp.maximum(choices - index, 1))

    def insert(taken, rank):
        num_below = (taken - index <= rank).sum()
        value = rank + num_below
        shifted = jnp.roll(taken, 1)
        # `taken` stays sorted: smaller values stay, larger ones move by one.
        inserted = jnp.where(index == num_below, value, shifted)
        return jnp.where(index < num_below, taken, inserted), value

    return jax.lax.scan(insert, jnp.full(number, _UNUSED), ranks)[1]
