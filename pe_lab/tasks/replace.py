"""Replace every symbol of a run by another.

    4 9 4 4 4 -> 9 9 9

The prompt is the old symbol, the new one, and the run. Every target token comes from the new
symbol; what else the model needs is the length of the run.

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "copy rdc" (repeat double char),
"Replace A with B in A A A", up to 20 tokens in training, 21..40 in test.

Differs: the words of the paper's prompt are left out, as they are the same in every example. There
each length has every ordered pair of as many T5 tokens as give the wanted number of examples; here
the pair is uniform on 100 symbols, the alphabet of the paper's other copy tasks.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._permute import rearranged
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class Replace(Task):
    """The target is the new symbol, as often as the old one stands in the run; the length is the
    run's.

    Args:
      num_symbols: the alphabet, of which a prompt has two symbols.
    """

    num_symbols: int = 100

    def __post_init__(self):
        if self.num_symbols < 2:
            raise ValueError(
                f"Replace needs two symbols or more, got num_symbols={self.num_symbols}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    def prompt_bound(self, length: int) -> int:
        return length + 2

    def sample(self, key, length, bound, data=None) -> Example:
        old_key, new_key = jax.random.split(key)
        old = jax.random.randint(old_key, (), 0, self.num_symbols)
        new = (old + jax.random.randint(new_key, (), 1, self.num_symbols)) % self.num_symbols
        place = jnp.arange(bound + 2)
        prompt = jnp.where(place == 1, new, old)
        return rearranged(
            prompt, place < length + 2, jnp.ones(bound, int), jnp.arange(bound) < length
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - 2

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        old, new, *run = prompt.tolist()
        return np.array([{old: new}[symbol] for symbol in run])
