"""Draws of strings whose counts, not symbols, have the wanted distribution."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key


def skewed(key: Key[Array, ""], bound: int) -> Bool[Array, "p"]:
    """Bits of which every prefix of n has a uniform number of True, 0..n, in a uniform order.

    Bits that share one uniform probability: the integral of C(n, k) p^k (1-p)^(n-k) is 1 / (n + 1)
    for every k.
    """
    probability, bits = jax.random.split(key)
    return jax.random.uniform(bits, (bound,)) < jax.random.uniform(probability)


def chosen(
    key: Key[Array, ""], count: Int[Array, "k"], mask: Bool[Array, "p k"]
) -> Bool[Array, "p k"]:
    """True at `count` of the places of a column where mask is True, every choice of as many equally
    likely.
    """
    order = jnp.argsort(jnp.where(mask, jax.random.uniform(key, mask.shape), 2.0), axis=0)
    return jnp.argsort(order, axis=0) < count[None]  # an order's order is the rank of each place
