"""Random strings whose counts, not symbols, have a given distribution."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from pe_lab.tasks.base import RandomKey


def skewed(key: RandomKey, bound: int) -> Bool[Array, "p"]:
    """Draw bits of which every prefix of n bits has a uniform number 0..n of True, in any order.

    The bits share one uniform probability p: the integral of C(n, k) p^k (1-p)^(n-k) over p is
    1 / (n + 1) for every k.
    """
    probability_key, bits_key = jax.random.split(key)
    return jax.random.uniform(bits_key, (bound,)) < jax.random.uniform(probability_key)


def chosen(key: RandomKey, count: Int[Array, "k"], mask: Bool[Array, "p k"]) -> Bool[Array, "p k"]:
    """Choose `count` random entries of each column among those where mask is True."""
    uniform = jnp.where(mask, jax.random.uniform(key, mask.shape), 2.0)
    order = jnp.argsort(uniform, axis=0)
    rank = jnp.argsort(order, axis=0)
    return rank < count[None]
