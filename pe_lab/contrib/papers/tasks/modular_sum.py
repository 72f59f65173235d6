"""Add digits, modulo 10.

    3 + 3 + 1 -> 7
    8 + 9 -> 7
    8 9 -> 7  # signs=False

The answer requires a running sum over the cyclic group, one step per digit; an average over the
digits is not sufficient.

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "sum" modulo 10, terms 1..9, up
to 8 terms in training and 16 in testing.

Differs: the words around the sum ("Compute:", "The answer is") are omitted. They train from 4 terms
on; here 1 is the shortest length. Their scratchpads are not available.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary, make_example, numerals


@dataclass(frozen=True)
class ModularSum(Task):
    """The target is one symbol: the sum of terms, uniform on 1..modulus-1, modulo `modulus`.

    Args:
      modulus: the number of answers.
      signs: terms are separated by plus signs.
    """

    modulus: int = 10
    signs: bool = True

    length_name = "terms"

    def __post_init__(self):
        if self.modulus < 3:
            raise ValueError(
                f"ModularSum needs a modulus of 3 or more, so that terms differ, got "
                f"{self.modulus}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        if self.signs:
            return Vocabulary.of(*numerals(self.modulus), "+")
        return self.target_vocabulary

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*numerals(self.modulus))

    def prompt_bound(self, length: int) -> int:
        return max(2 * length - 1, 0) if self.signs else length

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        terms = jax.random.randint(key, (bound,), 1, self.modulus)
        terms = jnp.where(jnp.arange(bound) < length, terms, 0)
        index = jnp.arange(self.prompt_bound(bound))
        if self.signs:
            mask = index < 2 * length - 1
            is_even = index % 2 == 0
            is_term = mask & is_even
            prompt = jnp.where(is_even, terms[index // 2], self.modulus)
        else:
            mask = is_term = index < length
            prompt = terms
        total = terms.sum(keepdims=True)
        answer = total % self.modulus
        target_mask = jnp.ones(1, bool)
        structure = {"symbols": (is_term, target_mask)}
        return make_example(prompt, mask, answer, target_mask, structure=structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        if not self.signs:
            return len(prompt)
        return (len(prompt) + 1) // 2
