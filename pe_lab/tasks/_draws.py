"""Random draws that tasks share."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from pe_lab.tasks.base import Bools, Ints, RandomKey, Scalar

_UNUSED = 2**30  # larger than any value


def skewed(key: RandomKey, bound: int) -> Bools:
    """Draw bits of which every prefix of n bits has a uniform number 0..n of True, in any order.

    The bits share one uniform probability p: the integral of C(n, k) p^k (1-p)^(n-k) over p is
    1 / (n + 1) for every k.
    """
    probability_key, bits_key = jax.random.split(key)
    probability = jax.random.uniform(probability_key)
    uniform = jax.random.uniform(bits_key, (bound,))
    return uniform < probability


def chosen(key: RandomKey, count: Int[Array, "k"], mask: Bool[Array, "p k"]) -> Bool[Array, "p k"]:
    """Choose `count` random entries of each column among those where mask is True."""
    uniform = jax.random.uniform(key, mask.shape)
    # Uniform numbers are below 1, so that entries outside of the mask come last.
    sort_key = jnp.where(mask, uniform, 2.0)
    order = jnp.argsort(sort_key, axis=0)
    rank = jnp.argsort(order, axis=0)  # the inverse of the order
    return rank < count[None]


def distinct(key: RandomKey, number: int, choices: int | Scalar) -> Ints:
    """Draw `number` different values of 0..choices-1, all ordered selections equally likely.

    It needs no table of all values, as a random order of them would. The first values do not depend
    on `number`. Values after the first `choices` ones are arbitrary.

    Value i is uniform among the values that the first i ones leave. If r is its random rank among
    these, and s the earlier values in ascending order, the value is r + #{j: s[j] - j <= r}.
    """
    index = jnp.arange(number)
    num_left = choices - index
    num_left = jnp.maximum(num_left, 1)
    ranks = jax.random.randint(key, (number,), 0, num_left)

    def insert(taken_values, rank):
        is_below = taken_values - index <= rank
        num_below = is_below.sum()
        value = rank + num_below
        # `taken` stays sorted: smaller values stay, larger ones move by one.
        shifted_values = jnp.roll(taken_values, 1)
        with_value = jnp.where(index == num_below, value, shifted_values)
        taken_values = jnp.where(index < num_below, taken_values, with_value)
        return taken_values, value

    nothing_taken = jnp.full(number, _UNUSED)
    _, values = jax.lax.scan(insert, nothing_taken, ranks)
    return values
