"""Rotate a string to the left.

    0 1 1 -> 1 1 0
    0 1 1 1 -> 1 1 0 1  # by=2
    >2 0 1 1 1 -> 1 1 0 1  # by=3, drawn=True

A fixed step needs one relative offset, and the string's length at the wrap-around. A random step
that the prompt shows needs an offset that depends on the prompt's content.

No paper: the smallest step from copy (a rotation by 0) to computed addresses.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._strings import StringTask, rearranged, uncoupled
from pe_lab.tasks.base import Example, Vocabulary, numerals


@dataclass(frozen=True)
class Rotate(StringTask):
    """The target is the prompt's string from index `by`, counted from 0, then its start.

    Args:
      by: the step, modulo the string's length.
      drawn: the step is uniform on 1..by in each example, and the prompt starts with it, as ">1",
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
        names = [*numerals(self.num_symbols)]
        if self.drawn:
            names += [f">{step}" for step in range(1, self.by + 1)]
        return Vocabulary.of(*names)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    def prompt_bound(self, length: int) -> int:
        return length + self.drawn

    def sample(self, key, length, bound, data=None) -> Example:
        string_key, step_key = jax.random.split(key)
        string = self.draw_string(string_key, bound)
        index = jnp.arange(bound)
        mask = index < length
        if not self.drawn:
            source = (index + self.by) % length
            return rearranged(string, mask, source, mask)
        step = jax.random.randint(step_key, (), 1, self.by + 1)
        step_symbol = self.num_symbols + step - 1
        prompt = jnp.concatenate([step_symbol[None], string])
        prompt_mask = jnp.arange(bound + 1) < length + 1
        source = 1 + (index + step) % length  # the string starts at index 1
        structure = uncoupled(prompt_mask, mask)
        return rearranged(prompt, prompt_mask, source, mask, structure=structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - self.drawn
