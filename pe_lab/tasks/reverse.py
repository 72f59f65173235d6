"""Reverse a string.

    0 1 1 -> 1 1 0

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "reverse_string", bits, lengths 1..40 in training. Kazemnejad et
al. 2023 (https://arxiv.org/abs/2305.19466): "reverse mc", 100 tokens.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, StringTask, random_string


@dataclass(frozen=True)
class Reverse(StringTask):
    """The target is the prompt from its end to its start; by default the papers' bits."""

    num_symbols: int = 2
    distinct: bool = False

    def sample(self, key, length, bound, data=None) -> Example:
        string = random_string(key, self.num_symbols, bound, self.distinct)
        place = jnp.arange(bound)
        mask = place < length
        source = jnp.where(mask, length - 1 - place, 0)
        target = jnp.where(mask, jnp.take(string, source), 0)
        return Example(
            jnp.where(mask, string, 0), mask, target, mask, mask, jnp.where(mask, source, -1)
        )

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return prompt[::-1]
