"""Rotate a string to the left.

    0 1 1 -> 1 1 0
    0 1 1 1 -> 1 1 0 1  # by=2
    >2 0 1 1 1 -> 1 1 0 1  # by=3, drawn=True

A fixed step asks for one relative offset, and for the string's length where it wraps around. A step
that is drawn and told asks for an offset that depends on what the prompt says.

No paper: the smallest step from copy, which is a rotation by 0, towards addresses that are
computed.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._permute import rearranged, uncoupled
from pe_lab.tasks.base import Example, StringTask, Vocabulary, random_string


@dataclass(frozen=True)
class Rotate(StringTask):
    """The target is the prompt's string from its symbol number `by`, counted from 0, around to the
    one before.

    Args:
      by: the step; more than a string's length begins anew.
      drawn: the step is uniform on 1..by in each example, and the prompt begins with it, as ">1",
        ">2", ...
    """

    num_symbols: int = 2
    distinct: bool = False
    by: int = 1
    drawn: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.by < 1:
            raise ValueError(f"Rotate's step is 1 or more, got by={self.by}.")

    @property
    def vocabulary(self) -> Vocabulary:
        steps = [f">{k + 1}" for k in range(self.by)] if self.drawn else []
        return Vocabulary(
            self.num_symbols + len(steps), (*map(str, range(self.num_symbols)), *steps)
        )

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    def prompt_bound(self, length: int) -> int:
        return length + self.drawn

    def sample(self, key, length, bound, data=None) -> Example:
        string_key, step_key = jax.random.split(key)
        string = random_string(string_key, self.num_symbols, bound, self.distinct)
        place, mask = jnp.arange(bound), jnp.arange(bound) < length
        if not self.drawn:
            return rearranged(string, mask, (place + self.by) % length, mask)
        step = jax.random.randint(step_key, (), 1, self.by + 1)
        prompt = jnp.concatenate([self.num_symbols + step[None] - 1, string])
        told = jnp.arange(bound + 1) < length + 1
        return rearranged(
            prompt, told, 1 + (place + step) % length, mask, structure=uncoupled(told, mask)
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - self.drawn

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        symbols = prompt.tolist()
        step = symbols.pop(0) - self.num_symbols + 1 if self.drawn else self.by
        for _ in range(step):
            symbols.append(symbols.pop(0))
        return np.array(symbols)
