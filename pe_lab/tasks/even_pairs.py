"""Whether the number of unequal neighbours in a string of bits is odd.

    0 0 1 1 1 0 -> 0
    0 1 0 1 0 0 1 -> 1

Each unequal pair changes the bit, so the answer is 0 where the last bit is the first: two symbols
decide, however long the string is.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "even_pairs", lengths 1..40 in training.
"""

import itertools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class EvenPairs(Task):
    """The target is one symbol: the number of unequal neighbours, modulo 2. Always 0 at length
    1.
    """

    length_name = "bits"

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(2)

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        mask = jnp.arange(bound) < length
        bits = jnp.where(mask, jax.random.randint(key, (bound,), 0, 2), 0)
        one = jnp.ones(1, bool)
        return Example(bits, mask, bits[:1] ^ bits[length - 1], one, one, jnp.full(1, -1))

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return np.array([sum(a != b for a, b in itertools.pairwise(prompt)) % 2])
