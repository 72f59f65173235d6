"""Say a string several times.

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
import numpy as np

from pe_lab.tasks._permute import rearranged
from pe_lab.tasks.base import Example, StringTask, Vocabulary, random_string


@dataclass(frozen=True)
class Duplicate(StringTask):
    """The target is the prompt, said `times` times; by default the papers' bits.

    Args:
      times: how often.
      separator: a symbol of its own, "|", stands between.
    """

    num_symbols: int = 2
    distinct: bool = False
    times: int = 2
    separator: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.times < 1:
            raise ValueError(
                f"Duplicate says its prompt once or more often, got times={self.times}."
            )

    @property
    def target_vocabulary(self) -> Vocabulary:
        return (
            Vocabulary(self.num_symbols + 1, (*map(str, range(self.num_symbols)), "|"))
            if self.separator
            else self.vocabulary
        )

    def target_bound(self, length: int) -> int:
        return self.times * (length + self.separator) - self.separator

    def sample(self, key, length, bound, data=None) -> Example:
        string = random_string(key, self.num_symbols, bound, self.distinct)
        place = jnp.arange(self.target_bound(bound))
        in_turn = place % (length + self.separator)
        said = place < self.times * (length + self.separator) - self.separator
        source = jnp.where(in_turn < length, in_turn, -1)
        return rearranged(
            string, jnp.arange(bound) < length, source, said, separator=self.num_symbols
        )

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        between = [self.num_symbols] if self.separator else []
        return np.array([*prompt, *(between + list(prompt)) * (self.times - 1)])
