"""Reverse a string, then say it again, reversed or not.

    5 6 7 -> 7 6 5 | 7 6 5
    5 6 7 -> 7 6 5 | 5 6 7  # second="original"

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "reverse mc2x" and, with
second="original", "reverse mcrv"; 100 tokens with repetition, "[NEXT]" between, up to 20 tokens in
training, 21..40 in test.
"""

from dataclasses import dataclass
from typing import Literal

import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._permute import rearranged
from pe_lab.tasks.base import Example, StringTask, Vocabulary, random_string


@dataclass(frozen=True)
class ReverseTwice(StringTask):
    """The target is the prompt from its end to its start, a symbol of its own, "|", and the prompt
    once more.

    Args:
      second: how the prompt is said behind the separator.
    """

    num_symbols: int = 100
    distinct: bool = False
    second: Literal["reversed", "original"] = "reversed"

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols + 1, (*map(str, range(self.num_symbols)), "|"))

    def target_bound(self, length: int) -> int:
        return 2 * length + 1

    def sample(self, key, length, bound, data=None) -> Example:
        string = random_string(key, self.num_symbols, bound, self.distinct)
        place = jnp.arange(2 * bound + 1)
        again = place - length - 1  # below 0 in the first part and at the separator
        first = length - 1 - place  # -1 at the separator
        second = again if self.second == "original" else length - 1 - again
        source = jnp.where(again < 0, first, second)
        return rearranged(
            string,
            jnp.arange(bound) < length,
            source,
            place < 2 * length + 1,
            separator=self.num_symbols,
        )

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        second = prompt if self.second == "original" else prompt[::-1]
        return np.array([*reversed(prompt), self.num_symbols, *second])
