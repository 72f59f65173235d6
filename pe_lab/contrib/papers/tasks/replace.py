"""Replace every symbol of a run by another symbol.

    4 9 4 4 4 -> 9 9 9

The prompt is the old symbol, the new one, and the run. Every target token is a copy of the new
symbol; besides it, the model only needs the length of the run.

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "copy rdc" (repeat double char),
"Replace A with B in A A A", up to 20 tokens in training, 21..40 in test.

Differs: the words of the paper's prompt are omitted, as they are the same in every example. There
each length has all ordered pairs of a set of T5 tokens that gives the wanted number of examples;
here the pair is uniform on 100 symbols, the alphabet size of the paper's other copy tasks.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._strings import check_num_symbols, rearranged
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class Replace(Task):
    """The target is the new symbol for each symbol of the run; the length is the run's.

    Args:
      num_symbols: the size of the alphabet; a prompt has two symbols.
    """

    num_symbols: int = 100

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    def prompt_bound(self, length: int) -> int:
        return length + 2

    def sample(self, key, length, bound, data=None) -> Example:
        old_key, new_key = jax.random.split(key)
        old = jax.random.randint(old_key, (), 0, self.num_symbols)
        # A shift of at least 1 never gives the old symbol.
        shift = jax.random.randint(new_key, (), 1, self.num_symbols)
        new = (old + shift) % self.num_symbols
        index = jnp.arange(bound + 2)
        prompt = jnp.where(index == 1, new, old)
        mask = index < length + 2
        target_mask = jnp.arange(bound) < length
        source = jnp.ones(bound, int)  # the index of the new symbol
        return rearranged(prompt, mask, source, target_mask)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - 2
