"""Find the missing symbol of a repeated string.

    0 1 1 0 0 1 ? 0 -> 1
    1 ? 1 1 0 1 _ -> 0

The prompt is a string of bits, repeated, with one hidden bit at a uniform index. An odd length ends
with a filler. The prompt and the answer of length 1 are 1. A constant guess is right in half of the
examples from length 2 on.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "missing_duplicate_string", lengths 1..40 in training. Here
their symbols 2 and 3 are "?" and "_".
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from pe_lab.tasks._strings import uncoupled
from pe_lab.tasks.base import Attribute, Example, Scalar, Task, Vocabulary, make_example

_HIDDEN, _FILLER = 2, 3


def _hidden_index(task: Task, example: Example) -> Scalar:
    is_hidden = jnp.asarray(example.prompt) == _HIDDEN
    return is_hidden.argmax()


@dataclass(frozen=True)
class MissingDuplicate(Task):
    """The target is the hidden bit, which is a copy of a bit of the other half."""

    attributes: ClassVar = {
        "needle": Attribute(
            label="index of the hidden bit, from 0",
            value=_hidden_index,
            largest=lambda task, n: n - 1,
        )
    }

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of("0", "1", "?", "_")

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(2)

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        string_key, hidden_key = jax.random.split(key)
        half = length // 2
        num_bits = jnp.maximum(2 * half, 1)
        bits = jax.random.randint(string_key, (bound,), 0, 2)
        hidden_index = jax.random.randint(hidden_key, (), 0, num_bits)
        twin_index = (hidden_index + half) % num_bits

        index = jnp.arange(bound)
        index_in_half = index % jnp.maximum(half, 1)
        string = jnp.where(index < 2 * half, bits[index_in_half], _FILLER)
        prompt = jnp.where(index == hidden_index, _HIDDEN, string)
        # The prompt and the answer of length 1 are 1.
        is_single = length == 1
        prompt = jnp.where(is_single, 1, prompt)
        answer = jnp.where(is_single, 1, string[twin_index])
        source = jnp.where(is_single, -1, twin_index)
        mask = index < length
        target_mask = jnp.ones(1, bool)
        return make_example(
            prompt,
            mask,
            answer[None],
            target_mask,
            alignment=source[None],
            structure=uncoupled(mask, target_mask),
        )
