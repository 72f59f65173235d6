"""The value of a polynomial with many terms at a given place, modulo a number.

    x = 2 in 3 * x ** 2 + -1 * x ** 0 -> 1
    x = -2 in -3 * x ** 3 -> 4
    2 3*x**2 -1*x**0 -> 1  # whole_terms=True

Coefficients are uniform on -3..3, degrees on 0..3, the place on -2..2; a degree may come up again,
and 0 ** 0 is 1.

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "polynomial evaluation", modulus
10, in training up to 8 terms, in the test up to 16.

Differs: the paper's prompts are English sentences (`Evaluate at x = 2 in ... ?`) that a tokenizer
of T5 cuts, a minus sign apart; here the words that never change are left out and a signed number is
one symbol.
"""

import re
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary

_COEFFICIENT, _DEGREE, _PLACE = 3, 3, 2  # the largest
_SIGNS = ("x", "=", "in", "*", "**", "+")


@dataclass(frozen=True)
class Polynomial(Task):
    """The target is one symbol: the value of the prompt, from 0 to modulus-1.

    Args:
      modulus: of the value.
      whole_terms: the prompt is the place and one symbol a term; else terms are spelled.
    """

    modulus: int = 10
    whole_terms: bool = False

    length_name = "terms"

    def __post_init__(self):
        if self.modulus < 2:
            raise ValueError(f"Polynomial needs a modulus of two or more, got {self.modulus}.")

    @property
    def _negatives(self) -> int:
        """The symbol of -1, those of -2 and -3 behind it; all others so far are what their number
        says.
        """
        return max(self.modulus, _COEFFICIENT + 1)

    @property
    def vocabulary(self) -> Vocabulary:
        numbers = (*map(str, range(self._negatives)), "-1", "-2", "-3")
        terms = tuple(
            f"{c}*x**{d}"
            for c in range(-_COEFFICIENT, _COEFFICIENT + 1)
            for d in range(_DEGREE + 1)
        )
        names = numbers + (terms if self.whole_terms else _SIGNS)
        return Vocabulary(len(names), names)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus)

    def prompt_bound(self, length: int) -> int:
        return length + 1 if self.whole_terms else 6 * length + 3

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        of_coefficients, of_degrees, of_place = jax.random.split(key, 3)
        coefficients = jax.random.randint(
            of_coefficients, (bound,), -_COEFFICIENT, _COEFFICIENT + 1
        )
        degrees = jax.random.randint(of_degrees, (bound,), 0, _DEGREE + 1)
        x = jax.random.randint(of_place, (), -_PLACE, _PLACE + 1)
        terms = jnp.where(jnp.arange(bound) < length, coefficients * x**degrees, 0)
        prompt = (self._whole if self.whole_terms else self._spelled)(coefficients, degrees, x)
        mask = jnp.arange(len(prompt)) < (length + 1 if self.whole_terms else 6 * length + 3)
        one = jnp.ones(1, bool)
        return Example(
            jnp.where(mask, prompt, 0),
            mask,
            terms.sum(keepdims=True) % self.modulus,
            one,
            one,
            jnp.full(1, -1),
        )

    def _number(self, n):
        """The symbol of a number."""
        return jnp.where(n < 0, self._negatives - 1 - n, n)

    def _whole(self, coefficients, degrees, x):
        terms = self._negatives + 3 + (coefficients + _COEFFICIENT) * (_DEGREE + 1) + degrees
        return jnp.concatenate([self._number(x)[None], terms])

    def _spelled(self, coefficients, degrees, x):
        unknown, equals, within, times, power, plus = (
            jnp.full_like(degrees, self._negatives + 3 + i) for i in range(6)
        )
        terms = jnp.stack(
            [self._number(coefficients), times, unknown, power, degrees, plus], axis=1
        ).reshape(-1)
        return jnp.concatenate(
            [unknown[:1], equals[:1], self._number(x)[None], within[:1], terms[:-1]]
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - 1 if self.whole_terms else (len(prompt) - 3) // 6

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        words = self.vocabulary.text(prompt.tolist()).removeprefix("x = ")
        x, terms = words.split(maxsplit=1)
        found = re.findall(r"(-?\d) ?\* ?x ?\*\* ?(\d)", terms)
        return np.array([sum(int(c) * int(x) ** int(d) for c, d in found) % self.modulus])
