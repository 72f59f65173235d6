"""Count a symbol in a string, modulo a number.

    0 1 1 0 1 1 1 1 -> 1
    2 0 1 2 2 -> 2  # num_symbols=3, told=True

Attention can average over the whole string, but the remainder needs the exact count.

No paper: parity is this task with modulus 2. The count is uniform on 0..length, as in Huang et al.
2025 (https://arxiv.org/abs/2410.02140), so that all remainders have similar frequencies at lengths
that are much larger than `modulus`.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._draws import skewed
from pe_lab.tasks.base import Attribute, Example, Scalar, Task, Vocabulary, one_symbol_example


def _num_counted(task: "Count", example: Example) -> Scalar:
    symbol = example.prompt[0] if task.told else 1
    is_counted = example.prompt_mask & (example.prompt == symbol)
    # The first token of a prompt with a told symbol is no part of the string.
    return is_counted.sum() - task.told


@dataclass(frozen=True)
class Count(Task):
    """The target is one symbol: the count of a symbol in the string, modulo `modulus`.

    Args:
      modulus: the number of answers.
      num_symbols: the size of the alphabet; the other symbols are uniform.
      told: the counted symbol is uniform and precedes the string; else it is 1.
    """

    modulus: int = 5
    num_symbols: int = 2
    told: bool = False

    attributes: ClassVar = {
        "num_counted": Attribute(
            label="occurrences of the counted symbol",
            value=_num_counted,
            largest=lambda task, n: n,
        )
    }

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
        symbol_key, counted_key, others_key = jax.random.split(key, 3)
        symbol = jnp.asarray(1)
        if self.told:
            symbol = jax.random.randint(symbol_key, (), 0, self.num_symbols)
        is_counted = skewed(counted_key, bound)
        # A shift of at least 1 never gives the counted symbol.
        shift = jax.random.randint(others_key, (bound,), 1, self.num_symbols)
        other_symbol = (symbol + shift) % self.num_symbols
        string = jnp.where(is_counted, symbol, other_symbol)
        in_string = jnp.arange(bound) < length
        count = (is_counted & in_string).sum()
        if self.told:
            string = jnp.concatenate([symbol[None], string])
        mask = jnp.arange(len(string)) < length + self.told
        return one_symbol_example(string, mask, count % self.modulus)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - self.told
