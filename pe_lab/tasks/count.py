"""How often a symbol stands in a string, modulo a number.

    0 1 1 0 1 1 1 1 -> 1
    2 0 1 2 2 -> 2  # num_symbols=3, told=True

Counting without a running total: attention can average over the whole string, the remainder needs
the exact number.

No paper: parity is this task with modulus 2; the number of the counted symbol is uniform on
0..length, as in Huang et al. 2025 (https://arxiv.org/abs/2410.02140), so that all remainders are
about as frequent from length `modulus` on.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._counting import skewed
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class Count(Task):
    """The target is one symbol: how often the counted symbol stands in the string, modulo
    `modulus`.

    Args:
      modulus: the number of answers.
      num_symbols: the alphabet; the others are uniform.
      told: the counted symbol is uniform and stands before the string; else it is 1.
    """

    modulus: int = 5
    num_symbols: int = 2
    told: bool = False

    def __post_init__(self):
        if self.modulus < 2 or self.num_symbols < 2:
            raise ValueError(
                f"Count needs modulus and num_symbols of 2 or more, got {self.modulus} and "
                f"{self.num_symbols}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus)

    def prompt_bound(self, length: int) -> int:
        return length + self.told

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        which, where, others = jax.random.split(key, 3)
        symbol = jax.random.randint(which, (), 0, self.num_symbols) if self.told else jnp.asarray(1)
        counted = skewed(where, bound)
        other = (
            symbol + jax.random.randint(others, (bound,), 1, self.num_symbols)
        ) % self.num_symbols
        string = jnp.where(counted, symbol, other)
        answer = (counted & (jnp.arange(bound) < length)).sum(keepdims=True) % self.modulus
        if self.told:
            string = jnp.concatenate([symbol[None], string])
        mask = jnp.arange(len(string)) < length + self.told
        one = jnp.ones(1, bool)
        return Example(jnp.where(mask, string, 0), mask, answer, one, one, jnp.full(1, -1))

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - self.told

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        symbol, string = (prompt[0], prompt[1:]) if self.told else (1, prompt)
        return np.array([string.tolist().count(symbol) % self.modulus])
