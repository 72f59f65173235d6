"""Or two vectors of bits, one of them all zeros, the other with a single one; they may differ in
length.

    0 0 1 | 0 0 0 0 0 -> 0 0 1 0 0
    0 0 0 | 0 1 0 -> 0 1 0

A digit of the answer is found by its place in the vectors alone: what is asked of positions in
addition, without its carries. Nearly all of the answer is zeros, so its token accuracy says little.

In training, length n is an upper bound on the bits of a vector. In evaluation the longer vector has
exactly n bits, or both have (`evaluate.exact_operands`).

Structure: "coupled" is the place in a vector from 1, so that bits that are ored share a number;
"symbols" are the bits; "grid" is (vector, place), the answer being the third vector.

Papers: McLeish et al. 2024 (https://arxiv.org/abs/2405.17399): "bitwise OR", vectors of up to 20
bits in training, 100 in tests, which have each pair of lengths of their own.

Differs: the separator of the layout stands for "=". There the data set has every example up to a
length once (and one of its two versions where lengths are equal); here each example is drawn as if
from it.
"""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks import _grids
from pe_lab.tasks._arithmetic import apart, example, laid_out, numbers
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class BitwiseOr(Task):
    """The target is the vector of a single one, with zeros up to the length of the longer vector.

    The single one stands in the shorter vector, in either where they have the same length.

    Args:
      lengths: of the vectors. "all": every example with vectors of 1..n bits is equally likely, so
        short vectors, which have fewer examples, are rarer; "one_longest": the same, but the longer
        vector has n bits; "equal": both have.
    """

    lengths: Literal["all", "one_longest", "equal"] = "all"

    length_name = "bits"

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(3, ("0", "1", "|"))

    def exact_arguments(self, operands: Literal["longest", "all"]) -> dict[str, Any]:
        if operands == "all":
            return {"lengths": "equal"}
        return {} if self.lengths == "equal" else {"lengths": "one_longest"}

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return max(map(len, self._vectors(prompt)))

    def _vectors(self, prompt: np.ndarray) -> list[str]:
        return self.vocabulary.text(prompt.tolist()).replace(" ", "").split("|")

    def prompt_bound(self, length: int) -> int:
        return 2 * length + 1

    def sample(self, key, length, bound, data=None) -> Example:
        of_place, of_lengths, of_vector = jax.random.split(key, 3)
        place = jnp.arange(bound)
        if self.lengths == "equal":
            lengths = jnp.full(2, length)
            one = jax.random.randint(of_place, (), 0, length)
        elif self.lengths == "one_longest":
            # With the one at a place, one vector or both have n bits and the other reaches the
            # place.
            examples = jnp.cumsum(jnp.maximum(2 * (length - place) - 1, 0))
            one = (examples <= jax.random.randint(of_place, (), 0, examples[-1])).sum()
            lengths = jnp.stack(_grids.sides(of_lengths, length, one + 1))
        else:
            examples = jnp.cumsum(
                jnp.maximum(length - place, 0) ** 2
            )  # with the one here or before: both vectors reach it
            one = (examples <= jax.random.randint(of_place, (), 0, examples[-1])).sum()
            lengths = jax.random.randint(of_lengths, (2,), one + 1, length + 1)
        shorter = jnp.where(
            lengths[0] == lengths[1], jax.random.randint(of_vector, (), 0, 2), lengths.argmin()
        )
        answer = (place == one).astype(int)
        vectors = answer[None] * (jnp.arange(2) == shorter)[:, None]
        prompt = apart(
            numbers(vectors, lengths, reverse=True), 2
        )  # the first bit is the one at place 1
        target = numbers(answer[None], lengths.max(keepdims=True), reverse=True, row=3, scored=True)
        return example(
            laid_out(prompt, self.prompt_bound(bound)), laid_out(target, self.target_bound(bound))
        )

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        first, second = self._vectors(prompt)
        width = max(len(first), len(second))
        both = int(first.ljust(width, "0"), 2) | int(second.ljust(width, "0"), 2)
        return np.array([int(bit) for bit in f"{both:0{width}b}"])
