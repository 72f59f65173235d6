"""What recall tasks share: keys of which no two are alike, from an alphabet that is too large to
sort.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

_UNUSED = 2**30  # beyond any value


def distinct(key: Key[Array, ""], number: int, choices: int | Int[Array, ""]) -> Int[Array, "n"]:
    """`number` different values of 0..choices-1, all selections in all orders equally likely.

    A prefix does not depend on the number. Values from the `choices`-th on, where there are so
    many, are arbitrary.

    The i-th value is uniform among those which the first i have left. With the r-th of these drawn
    and s the earlier values in ascending order, it is r + #{j: s[j] - j <= r}.
    """
    place = jnp.arange(number)
    ranks = jax.random.randint(key, (number,), 0, jnp.maximum(choices - place, 1))

    def insert(taken, rank):
        below = (taken - place <= rank).sum()
        value = rank + below
        later = jnp.roll(taken, 1)
        return jnp.where(place < below, taken, jnp.where(place == below, value, later)), value

    return jax.lax.scan(insert, jnp.full(number, _UNUSED), ranks)[1]
