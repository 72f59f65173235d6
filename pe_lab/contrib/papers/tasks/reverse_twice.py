"""Reverse a string, then repeat it, reversed or in its original order.

    5 6 7 -> 7 6 5 | 7 6 5
    5 6 7 -> 7 6 5 | 5 6 7  # second="original"

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "reverse mc2x" and, with
second="original", "reverse mcrv"; 100 tokens with repetition, "[NEXT]" between, up to 20 tokens in
training, 21..40 in test.
"""

from dataclasses import dataclass
from typing import Literal

import jax.numpy as jnp

from pe_lab.tasks._strings import StringTask, rearranged
from pe_lab.tasks.base import Example, Vocabulary, numerals


@dataclass(frozen=True)
class ReverseTwice(StringTask):
    """The target is the reversed prompt, "|" (a symbol of its own), and the prompt again.

    Args:
      second: the order of the second copy.
    """

    num_symbols: int = 100
    distinct: bool = False
    second: Literal["reversed", "original"] = "reversed"

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*numerals(self.num_symbols), "|")

    def target_bound(self, length: int) -> int:
        return 2 * length + 1

    def sample(self, key, length, bound, data=None) -> Example:
        string = self.draw_string(key, bound)
        index = jnp.arange(2 * bound + 1)
        first = length - 1 - index  # -1, the separator, at index `length`
        index_in_second = index - length - 1
        second = index_in_second
        if self.second == "reversed":
            second = length - 1 - index_in_second
        return rearranged(
            string,
            jnp.arange(bound) < length,
            jnp.where(index_in_second < 0, first, second),
            index < 2 * length + 1,
            separator=self.num_symbols,
        )
