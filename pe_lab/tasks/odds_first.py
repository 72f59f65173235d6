"""Say first every second symbol of a string, then the others.

    0 0 1 1 0 1 0 1 -> 0 1 1 1 0 1 0 0

Counted from 1, the symbols at even places come first, then those at odd places.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "odds_first", bits, lengths 1..40 in training.

Differs: the authors' description, and its examples, put the odd places first, counted from 1; their
code takes the places 1, 3, 5, ..., counted from 0. What ran is the code, so the code is what is
here.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._permute import rearranged
from pe_lab.tasks.base import Example, StringTask, random_string


@dataclass(frozen=True)
class OddsFirst(StringTask):
    """The target is the prompt's symbols of odd index, counted from 0, then those of even index; by
    default bits.
    """

    num_symbols: int = 2
    distinct: bool = False

    def sample(self, key, length, bound, data=None) -> Example:
        string = random_string(key, self.num_symbols, bound, self.distinct)
        place = jnp.arange(bound)
        odd = length // 2  # as many indices are odd
        source = jnp.where(place < odd, 2 * place + 1, 2 * (place - odd))
        return rearranged(string, place < length, source, place < length)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return np.concatenate([prompt[1::2], prompt[0::2]])
