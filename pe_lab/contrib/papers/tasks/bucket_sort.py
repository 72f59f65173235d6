"""Sort a string over a small alphabet.

    1 0 2 0 4 1 1 2 -> 0 0 1 1 1 2 2 4

Symbols repeat, so the answer consists of the count of each symbol. The index of an answer symbol
almost determines it: a predictor that knows the length and the index alone is right at 78 % of the
answer's symbols at length 41, and at 94 % at length 500.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "bucket_sort", five symbols, lengths 1..40 in training.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.tasks._strings import check_num_symbols
from pe_lab.tasks.base import Example, Task, Vocabulary, make_example


@dataclass(frozen=True)
class BucketSort(Task):
    """The target is the prompt's symbols, each uniform, in ascending order, without an alignment.

    Args:
      num_symbols: the size of the alphabet.
    """

    num_symbols: int = 5

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    def sample(self, key, length, bound, data=None) -> Example:
        mask = jnp.arange(bound) < length
        string = jax.random.randint(key, (bound,), 0, self.num_symbols)
        # The padding is larger than every symbol, so that it comes last.
        symbols = jnp.where(mask, string, self.num_symbols)
        return make_example(string, mask, jnp.sort(symbols), mask)
