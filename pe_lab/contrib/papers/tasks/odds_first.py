"""Put the symbols with odd indices before the others.

    0 0 1 1 0 1 0 1 -> 0 1 1 1 0 1 0 0

Counted from 1, the symbols with even indices come first, then the symbols with odd indices.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "odds_first", bits, lengths 1..40 in training.

Differs: the authors' description and its examples put the odd indices first, counted from 1; their
code takes the indices 1, 3, 5, ..., counted from 0. This task follows the code, which produced the
results.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.tasks._strings import StringTask, rearranged
from pe_lab.tasks.base import Example


@dataclass(frozen=True)
class OddsFirst(StringTask):
    """The target is the symbols of odd index, counted from 0, then the others; by default bits."""

    num_symbols: int = 2
    distinct: bool = False

    def sample(self, key, length, bound, data=None) -> Example:
        string = self.draw_string(key, bound)
        index = jnp.arange(bound)
        mask = index < length
        num_odd = length // 2
        odd_index = 2 * index + 1
        even_index = 2 * (index - num_odd)
        source = jnp.where(index < num_odd, odd_index, even_index)
        return rearranged(string, mask, source, mask)
