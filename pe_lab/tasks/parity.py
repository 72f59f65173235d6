"""Parity of a string of bits.

    1 0 1 0 1 -> 1

One answer token, 0 for an even number of ones, so chance is a half at every length.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098): "parity_check".
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class Parity(Task):
    """The target is one symbol: the number of ones in the prompt, modulo 2."""

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
        return Example(bits, mask, bits.sum(keepdims=True) % 2, one, one, jnp.full(1, -1))

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return np.array([sum(prompt) % 2])
