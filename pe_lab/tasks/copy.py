"""Copy a string: the task that tells position encodings apart fastest.

    3 1 2 -> 3 1 2

With distinct symbols each symbol says where to look for its successor; over a small alphabet only
positions do.

Papers: Huang et al. 2025 (https://arxiv.org/abs/2410.02140): "unique copy" (150 symbols, distinct)
and "repeat copy" (2 symbols, not distinct). Kazemnejad et al. 2023
(https://arxiv.org/abs/2305.19466): "copy cmc", 100 tokens with repetition. Jelassi et al. 2024
(https://arxiv.org/abs/2402.01032): "copy", 26 letters with repetition.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, StringTask, random_string


@dataclass(frozen=True)
class Copy(StringTask):
    """The target is the prompt."""

    num_symbols: int = 64
    distinct: bool = True

    def sample(self, key, length, bound, data=None) -> Example:
        string = random_string(key, self.num_symbols, bound, self.distinct)
        place = jnp.arange(bound)
        mask = place < length
        string = jnp.where(mask, string, 0)
        return Example(string, mask, string, mask, mask, jnp.where(mask, place, -1))

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return prompt
