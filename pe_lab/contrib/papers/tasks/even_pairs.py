"""Decide whether a string of bits has an odd number of unequal neighbors.

    0 0 1 1 1 0 -> 0
    0 1 0 1 0 0 1 -> 1

Each unequal pair changes the bit, so the answer is 0 if the last bit equals the first one. Two
symbols decide, for any length.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "even_pairs", lengths 1..40 in training.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.tasks.base import Example, Task, Vocabulary, one_symbol_example


@dataclass(frozen=True)
class EvenPairs(Task):
    """The target is one symbol: the number of unequal neighbors modulo 2 (0 at length 1)."""

    length_name = "bits"

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(2)

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        mask = jnp.arange(bound) < length
        bits = jax.random.randint(key, (bound,), 0, 2)
        bits = jnp.where(mask, bits, 0)
        # The last bit differs from the first one after an odd number of changes.
        answer = bits[0] ^ bits[length - 1]
        return one_symbol_example(bits, mask, answer)
