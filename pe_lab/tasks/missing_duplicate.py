"""Find the symbol that is missing from one half of a string said twice.

    0 1 1 0 0 1 ? 0 -> 1
    1 ? 1 1 0 1 _ -> 0

One bit of the two halves is hidden, each of their places equally likely; an odd length ends with a
filler. A length of 1 leaves no half, so there the prompt and the answer are 1. Chance is a half
from length 2 on.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "missing_duplicate_string", lengths 1..40 in training. Their 2
and 3 are written "?" and "_" here.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._permute import uncoupled
from pe_lab.tasks.base import Example, Task, Vocabulary

_HIDDEN, _FILLER = 2, 3


@dataclass(frozen=True)
class MissingDuplicate(Task):
    """The target is the hidden bit, which the other half tells."""

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(4, ("0", "1", "?", "_"))

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(2)

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        string_key, hidden_key = jax.random.split(key)
        half = length // 2
        bits = jax.random.randint(string_key, (bound,), 0, 2)
        hidden = jax.random.randint(hidden_key, (), 0, jnp.maximum(2 * half, 1))
        twin, place = (hidden + half) % jnp.maximum(2 * half, 1), jnp.arange(bound)
        string = jnp.where(place < 2 * half, bits[place % jnp.maximum(half, 1)], _FILLER)
        single, mask, said = length == 1, place < length, jnp.ones(1, bool)
        prompt = jnp.where(single, 1, jnp.where(place == hidden, _HIDDEN, string))
        answer, source = jnp.where(single, 1, string[twin]), jnp.where(single, -1, twin)
        return Example(
            jnp.where(mask, prompt, 0),
            mask,
            answer[None],
            said,
            said,
            source[None],
            structure=uncoupled(mask, said),
        )

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        symbols = [symbol for symbol in prompt.tolist() if symbol != _FILLER]
        halves = symbols[: len(symbols) // 2], symbols[len(symbols) // 2 :]
        pairs = (
            [{a, b} - {_HIDDEN} for a, b in zip(*halves, strict=True) if _HIDDEN in (a, b)]
            if len(symbols) > 1
            else [{1}]
        )
        return np.array([bit for pair in pairs for bit in pair])
