"""Say a run of one symbol again: what counts is how long it is.

    7 7 7 -> 7 7 7
    7 7 7 -> 7 7 7 7 7 7  # times=2

The first symbol of the target is the only one that the prompt decides; from then on the model must
count, so the end token is the harder part.

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "copy rsc" (repeat single char)
and "copy rsc2x" (times=2), up to 20 tokens in training, 21..40 in test.

Differs: there each length has every single-piece token of the T5 vocabulary at most once, as many
as there are examples; here the symbol is uniform on 100, the alphabet of the paper's other copy
tasks.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._permute import rearranged
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class Repeat(Task):
    """The target is the prompt's symbol, `times` times as often as there.

    Args:
      num_symbols: the alphabet, of which a prompt has one symbol.
      times: how often the run is said.
    """

    num_symbols: int = 100
    times: int = 1

    def __post_init__(self):
        if self.num_symbols < 2:
            raise ValueError(
                f"Repeat needs two symbols or more, got num_symbols={self.num_symbols}."
            )
        if self.times < 1:
            raise ValueError(f"Repeat says its prompt once or more often, got times={self.times}.")

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    def target_bound(self, length: int) -> int:
        return self.times * length

    def sample(self, key, length, bound, data=None) -> Example:
        run = jnp.full(bound, jax.random.randint(key, (), 0, self.num_symbols))
        place = jnp.arange(self.target_bound(bound))
        return rearranged(
            run, jnp.arange(bound) < length, place % length, place < self.times * length
        )

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return np.array([prompt[0]] * (self.times * len(prompt)))
