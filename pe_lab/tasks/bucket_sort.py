"""Sort a string over a small alphabet.

    1 0 2 0 4 1 1 2 -> 0 0 1 1 1 2 2 4

Symbols repeat, so the answer is how often each one occurs. A place of the answer tells its symbol
nearly by itself: a predictor that sees length and place alone is right at 0.78 of the places at
length 41 and at 0.94 at length 500.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "bucket_sort", five symbols, lengths 1..40 in training.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class BucketSort(Task):
    """The target is the prompt's symbols, each uniform, in ascending order. Which of equal ones
    stands where is not said.

    Args:
      num_symbols: the alphabet.
    """

    num_symbols: int = 5

    def __post_init__(self):
        if self.num_symbols < 2:
            raise ValueError(
                f"BucketSort needs two symbols or more, got num_symbols={self.num_symbols}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    def sample(self, key, length, bound, data=None) -> Example:
        mask = jnp.arange(bound) < length
        string = jax.random.randint(key, (bound,), 0, self.num_symbols)
        ordered = jnp.sort(jnp.where(mask, string, self.num_symbols))  # padding goes behind
        return Example(
            jnp.where(mask, string, 0),
            mask,
            jnp.where(mask, ordered, 0),
            mask,
            mask,
            jnp.full(bound, -1),
        )

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return np.array(
            [
                symbol
                for symbol in range(self.num_symbols)
                for _ in range(prompt.tolist().count(symbol))
            ]
        )
