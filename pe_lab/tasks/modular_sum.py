"""The sum of digits, modulo 10.

    3 + 3 + 1 -> 7
    8 + 9 -> 7
    8 9 -> 7  # signs=False

A running sum over the cyclic group: one step a digit, no shortcut by averaging.

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "sum" modulo 10, terms 1..9, up
to 8 terms in training and 16 in testing.

Differs: the words around the sum ("Compute:", "The answer is") are left out. They train from 4
terms on; here 1 is the shortest. Their scratchpads are not offered.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class ModularSum(Task):
    """The target is one symbol: the sum of the terms, each uniform on 1..modulus-1, modulo
    `modulus`.

    Args:
      modulus: the number of answers.
      signs: a plus stands between terms; else they are neighbours.
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
        return Vocabulary(
            self.modulus + self.signs,
            (*map(str, range(self.modulus)), "+")[: self.modulus + self.signs],
        )

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus, tuple(map(str, range(self.modulus))))

    def prompt_bound(self, length: int) -> int:
        return max(2 * length - 1, 0) if self.signs else length

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        terms = jnp.where(
            jnp.arange(bound) < length, jax.random.randint(key, (bound,), 1, self.modulus), 0
        )
        place = jnp.arange(self.prompt_bound(bound))
        mask = place < (2 * length - 1 if self.signs else length)
        prompt = jnp.where(place % 2 == 1, self.modulus, terms[place // 2]) if self.signs else terms
        term = mask & ((place % 2 == 0) | (not self.signs))
        one = jnp.ones(1, bool)
        answer = terms.sum(keepdims=True) % self.modulus
        return Example(
            jnp.where(mask, prompt, 0),
            mask,
            answer,
            one,
            one,
            jnp.full(1, -1),
            structure={"symbols": (term, one)},
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return (len(prompt) + 1) // 2 if self.signs else len(prompt)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        total = 0
        for word in self.vocabulary.text(prompt.tolist()).replace("+", " ").split():
            total = (total + int(word)) % self.modulus
        return np.array([total])
