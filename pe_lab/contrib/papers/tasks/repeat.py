"""Repeat one symbol as often as the prompt does.

    7 7 7 -> 7 7 7
    7 7 7 -> 7 7 7 7 7 7  # times=2

Only the first symbol of the target depends on the prompt's symbol. After it the model must count,
so that the end token is the harder part.

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "copy rsc" (repeat single char)
and "copy rsc2x" (times=2), up to 20 tokens in training, 21..40 in test.

Differs: there each length has every single-piece token of the T5 vocabulary at most once, up to the
number of examples; here the symbol is uniform on 100, the alphabet size of the paper's other copy
tasks.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.tasks._strings import check_num_symbols, rearranged
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class Repeat(Task):
    """The target is the prompt's symbol, `times` times as often.

    Args:
      num_symbols: the size of the alphabet; a prompt has one symbol.
      times: the number of copies of the run.
    """

    num_symbols: int = 100
    times: int = 1

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)
        if self.times < 1:
            raise ValueError(f"Repeat needs one copy or more, got times={self.times}.")

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    def target_bound(self, length: int) -> int:
        return self.times * length

    def sample(self, key, length, bound, data=None) -> Example:
        symbol = jax.random.randint(key, (), 0, self.num_symbols)
        mask = jnp.arange(bound) < length
        index = jnp.arange(self.target_bound(bound))
        target_mask = index < self.times * length
        prompt = jnp.full(bound, symbol)
        source = index % length
        return rearranged(prompt, mask, source, target_mask)
