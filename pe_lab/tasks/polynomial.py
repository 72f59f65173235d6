"""Evaluate a polynomial at a point, modulo a number.

    x = 2 in 3 * x ** 2 + -1 * x ** 0 -> 1
    x = -2 in -3 * x ** 3 -> 4
    2 3*x**2 -1*x**0 -> 1  # whole_terms=True

Coefficients are uniform on -3..3, degrees on 0..3, the point on -2..2. A degree may repeat, and
0 ** 0 is 1.

Papers: Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): "polynomial evaluation", modulus
10, in training up to 8 terms, in the test up to 16.

Differs: the paper's prompts are English sentences (`Evaluate at x = 2 in ... ?`), and the T5
tokenizer separates minus signs; here constant words are omitted and a signed number is one symbol.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks.base import Example, Scalar, Task, Vocabulary, make_example

_COEFFICIENT, _DEGREE, _POINT = 3, 3, 2  # the largest values
_SIGNS = ("x", "=", "in", "*", "**", "+")


@dataclass(frozen=True)
class Polynomial(Task):
    """The target is one symbol: the value of the prompt, from 0 to modulus-1.

    Args:
      modulus: the modulus of the value.
      whole_terms: each term is one symbol; else terms are spelled.
    """

    modulus: int = 10
    whole_terms: bool = False

    length_name = "terms"

    def __post_init__(self):
        if self.modulus < 2:
            raise ValueError(f"Polynomial needs a modulus of two or more, got {self.modulus}.")

    @property
    def _negatives(self) -> int:
        """The symbol of -1, before the symbols of -2 and -3; smaller symbols are numbers."""
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
        coefficients_key, degrees_key, point_key = jax.random.split(key, 3)
        coefficients = jax.random.randint(
            coefficients_key, (bound,), -_COEFFICIENT, _COEFFICIENT + 1
        )
        degrees = jax.random.randint(degrees_key, (bound,), 0, _DEGREE + 1)
        x = jax.random.randint(point_key, (), -_POINT, _POINT + 1)
        terms = jnp.where(jnp.arange(bound) < length, coefficients * x**degrees, 0)
        value = terms.sum(keepdims=True) % self.modulus
        write = self._write_whole if self.whole_terms else self._write_spelled
        prompt = write(coefficients, degrees, x)
        mask = jnp.arange(len(prompt)) < (length + 1 if self.whole_terms else 6 * length + 3)
        return make_example(prompt, mask, value, jnp.ones(1, bool))

    def _number(self, n: Int[Array, "*n"]) -> Int[Array, "*n"]:
        """Return the symbols of numbers."""
        return jnp.where(n < 0, self._negatives - 1 - n, n)

    def _write_whole(
        self, coefficients: Int[Array, "n"], degrees: Int[Array, "n"], x: Scalar
    ) -> Int[Array, "p"]:
        # One symbol for each pair of a coefficient and a degree.
        terms = self._negatives + 3 + (coefficients + _COEFFICIENT) * (_DEGREE + 1) + degrees
        return jnp.concatenate([self._number(x)[None], terms])

    def _write_spelled(
        self, coefficients: Int[Array, "n"], degrees: Int[Array, "n"], x: Scalar
    ) -> Int[Array, "p"]:
        signs = [jnp.full_like(degrees, self._negatives + 3 + i) for i in range(len(_SIGNS))]
        unknown, equals, within, times, power, plus = signs
        columns = [self._number(coefficients), times, unknown, power, degrees, plus]
        terms = jnp.stack(columns, axis=1).reshape(-1)
        head = [unknown[:1], equals[:1], self._number(x)[None], within[:1]]
        return jnp.concatenate([*head, terms[:-1]])

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - 1 if self.whole_terms else (len(prompt) - 3) // 6
