"""Copy the symbols that stand between blanks.

    _ 3 _ _ 0 2 -> 3 0 2  # num_content=3

The number of symbols to copy is fixed, the length is that of the prompt: what grows is how far they
lie apart.

Papers: Poli et al. 2024 (MAD, https://arxiv.org/abs/2403.17844): "selective copying", 14 symbols,
16 to copy, sequences of 256 tokens, which are a prompt of 239, a copy token and 16 places for the
answer.

Differs: the copy token is left out, as every layout tells where the answer begins. As in the
authors' code, each blank is put before one of the symbols, which of them uniform, so a prompt ends
with a symbol.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._permute import rearranged, uncoupled
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class SelectiveCopy(Task):
    """The target is the prompt without its blanks.

    Args:
      num_symbols: the alphabet, without the blank.
      num_content: symbols to copy in each example.
    """

    num_symbols: int = 14
    num_content: int = 16

    def __post_init__(self):
        if self.num_symbols < 2 or self.num_content < 1:
            given = f"num_symbols={self.num_symbols} and num_content={self.num_content}"
            raise ValueError(
                f"SelectiveCopy needs two symbols or more and one to copy, got {given}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols + 1, (*map(str, range(self.num_symbols)), "_"))

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    @property
    def min_length(self) -> int:
        return self.num_content

    def target_bound(self, length: int) -> int:
        return self.num_content

    def sample(self, key, length, bound, data=None) -> Example:
        content_key, blank_key = jax.random.split(key)
        order = jnp.arange(self.num_content)
        content = jax.random.randint(content_key, order.shape, 0, self.num_symbols)
        before = jax.random.randint(
            blank_key, (bound - self.num_content,), 0, self.num_content
        )  # which symbol
        blanks = jnp.arange(bound - self.num_content) < length - self.num_content
        source = order + ((before[:, None] <= order[None]) & blanks[:, None]).sum(axis=0)
        prompt = jnp.full(bound, self.num_symbols).at[source].set(content)
        mask, said = jnp.arange(bound) < length, jnp.ones(self.num_content, bool)
        return rearranged(prompt, mask, source, said, structure=uncoupled(mask, said))

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return np.array([symbol for symbol in prompt.tolist() if symbol != self.num_symbols])
