"""A task with everything that an example may have: sizes that differ, given tokens, structure of
one and of two axes.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.tasks.base import Example, Task, Vocabulary

NAME = "tests.training.varied:Varied"


@dataclass(frozen=True)
class Varied(Task):
    """Of a prompt of 0 to `length` symbols, twice what stands at every place; every second one is
    given.

    Args:
      num_symbols: the alphabet.
    """

    num_symbols: int = 5

    @property
    def vocabulary(self):
        return Vocabulary(2 * self.num_symbols)

    @property
    def gives_tokens(self):
        return True

    def target_bound(self, length):
        return length + 1

    def sample(self, key, length, bound, data=None):
        size = jax.random.randint(jax.random.fold_in(key, 1), (), 0, length + 1)
        prompt = jnp.where(
            jnp.arange(bound) < size, jax.random.randint(key, (bound,), 1, self.num_symbols), 0
        )
        target = jnp.concatenate([2 * prompt, jnp.zeros(1, int)])
        there, place = jnp.arange(bound + 1) <= size, jnp.arange(bound + 1)
        asked = there & (place % 2 == size % 2)
        where = (
            jnp.where(jnp.arange(bound) < size, jnp.arange(bound) + 1, 0),
            jnp.where(there, place + 1, 0),
        )
        grid = tuple(jnp.stack([each, each % 3], axis=1) for each in where)
        structure = {"coupled": where, "grid": grid, "symbols": (prompt > 1, target > 2)}
        return Example(
            prompt,
            jnp.arange(bound) < size,
            target,
            there,
            asked,
            jnp.full(bound + 1, -1),
            asked,
            structure,
        )
