"""Bitwise OR of two vectors of bits with a single one between them.

    0 0 1 | 0 0 0 0 0 -> 0 0 1 0 0
    0 0 0 | 0 1 0 -> 0 1 0

One vector has a single one, the other one is all zeros, and their lengths may differ. A digit of
the answer follows from the same index of the two vectors, as in addition without carries. Almost
all of the answer is zeros, so that its token accuracy is not informative.

In training, length n is an upper bound on the bits of a vector. In evaluation the longer vector has
exactly n bits, or both have n bits (`evaluate.exact_operands`).

Structure: "coupled" is the index in a vector from 1, so that bits that are combined share a number;
"symbols" are the bits; "grid" is (vector, index), with the answer as vector 3.

Papers: McLeish et al. 2024 (https://arxiv.org/abs/2405.17399): "bitwise OR", vectors of up to 20
bits in training, 100 in tests, which have each pair of lengths of their own.

Differs: the separator of the layout replaces "=". There the data set has every example up to a
length once (and one of its two versions if the lengths are equal); here each example is drawn from
that distribution.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks import _grids
from pe_lab.tasks._number_text import (
    left_aligned,
    number_text,
    separated,
    text_example,
)
from pe_lab.tasks.base import Example, Ints, RandomKey, Scalar, Task, Vocabulary

_SEPARATOR = 2


@dataclass(frozen=True)
class BitwiseOr(Task):
    """The target is the vector with the one, padded with zeros to the longer vector's length.

    The one is in the shorter vector, or in a random one if their lengths are equal.

    Args:
      lengths: the distribution of the lengths. "all": every example with vectors of 1..n bits is
        equally likely, so short vectors, which have fewer examples, are rarer; "one_longest": the
        same, but the longer vector has n bits; "equal": both have n bits.
    """

    lengths: Literal["all", "one_longest", "equal"] = "all"

    length_name = "bits"

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of("0", "1", "|")

    @property
    def max_length(self) -> int | None:
        # The sum of the weights of `sample`, n (n + 1) (2 n + 1) / 6, is below 2**31.
        return 1860 if self.lengths == "all" else None

    def exact_arguments(self, operands: Literal["longest", "all"]) -> dict[str, str]:
        if operands == "all":
            return {"lengths": "equal"}
        return {} if self.lengths == "equal" else {"lengths": "one_longest"}

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        first_length = prompt.tolist().index(_SEPARATOR)
        second_length = len(prompt) - first_length - 1
        return max(first_length, second_length)

    def prompt_bound(self, length: int) -> int:
        return 2 * length + 1

    def sample(self, key, length, bound, data=None) -> Example:
        one_key, lengths_key, vector_key = jax.random.split(key, 3)
        index = jnp.arange(bound)
        if self.lengths == "equal":
            lengths = jnp.full(2, length)
            one = jax.random.randint(one_key, (), 0, length)
        elif self.lengths == "one_longest":
            # With the one at index i, a vector (or both) has n bits and the other more than i.
            num_lengths = length - index  # of the other vector
            num_pairs = jnp.maximum(2 * num_lengths - 1, 0)
            one = _draw_index(one_key, num_pairs)
            lengths = jnp.stack(_grids.sides(lengths_key, length, one + 1))
        else:
            # With the one at index i, both vectors have more than i bits.
            num_lengths = jnp.maximum(length - index, 0)
            one = _draw_index(one_key, num_lengths**2)
            lengths = jax.random.randint(lengths_key, (2,), one + 1, length + 1)
        random_vector = jax.random.randint(vector_key, (), 0, 2)
        is_tie = lengths[0] == lengths[1]
        shorter = lengths.argmin()
        vector_with_one = jnp.where(is_tie, random_vector, shorter)

        answer = (index == one).astype(int)
        has_one = jnp.arange(2) == vector_with_one
        vectors = answer[None] * has_one[:, None]
        # Bits are written like digits, with significance 1 first.
        prompt = number_text(vectors, lengths, reverse=True)
        prompt = separated(prompt, _SEPARATOR)
        width = lengths.max(keepdims=True)
        target = number_text(answer[None], width, reverse=True, row=3, scored=True)
        return text_example(
            left_aligned(prompt, self.prompt_bound(bound)),
            left_aligned(target, self.target_bound(bound)),
        )


def _draw_index(key: RandomKey, weights: Ints) -> Scalar:
    """Draw an index in proportion to integer weights."""
    cumulative = jnp.cumsum(weights)
    threshold = jax.random.randint(key, (), 0, cumulative[-1])
    return (cumulative <= threshold).sum()
