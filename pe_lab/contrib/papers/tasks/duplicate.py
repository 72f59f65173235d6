"""Copy a string several times.

    1 0 1 -> 1 0 1 1 0 1
    1 0 1 -> 1 0 1 | 1 0 1  # separator=True
    1 0 -> 1 0 1 0 1 0  # times=3

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "duplicate_string", bits, twice without a separator, lengths
1..40 in training. Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "copy cmc2x", 100
tokens with repetition, twice with "[NEXT]" between, up to 20 tokens in training: num_symbols=100,
separator=True.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.tasks._strings import StringTask, rearranged
from pe_lab.tasks.base import Example, Vocabulary, numerals


@dataclass(frozen=True)
class Duplicate(StringTask):
    """The target is `times` copies of the prompt; by default of the papers' bits.

    Args:
      times: the number of copies.
      separator: "|", a symbol of its own, separates the copies.
    """

    num_symbols: int = 2
    distinct: bool = False
    times: int = 2
    separator: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.times < 1:
            raise ValueError(f"Duplicate needs one copy or more, got times={self.times}.")

    @property
    def target_vocabulary(self) -> Vocabulary:
        if not self.separator:
            return self.vocabulary
        return Vocabulary.of(*numerals(self.num_symbols), "|")

    def target_bound(self, length: int) -> int:
        return self.times * (length + self.separator) - self.separator

    def sample(self, key, length, bound, data=None) -> Example:
        string = self.draw_string(key, bound)
        index = jnp.arange(self.target_bound(bound))
        period = length + self.separator
        index_in_copy = index % period
        source = jnp.where(index_in_copy < length, index_in_copy, -1)
        return rearranged(
            string,
            jnp.arange(bound) < length,
            source,
            index < self.times * period - self.separator,
            separator=self.num_symbols,
        )
