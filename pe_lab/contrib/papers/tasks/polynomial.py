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

from pe_lab.tasks.base import (
    Example,
    Ints,
    RandomKey,
    Scalar,
    Task,
    Vocabulary,
    numerals,
    one_symbol_example,
)

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
        names = [*numerals(self._negatives), "-1", "-2", "-3"]
        if not self.whole_terms:
            return Vocabulary.of(*names, *_SIGNS)
        for coefficient in range(-_COEFFICIENT, _COEFFICIENT + 1):
            for degree in range(_DEGREE + 1):
                names.append(f"{coefficient}*x**{degree}")
        return Vocabulary.of(*names)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus)

    def prompt_bound(self, length: int) -> int:
        return length + 1 if self.whole_terms else 6 * length + 3

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        coefficients_key, degrees_key, point_key = jax.random.split(key, 3)
        coefficients = _draw_up_to(coefficients_key, (bound,), _COEFFICIENT)
        degrees = jax.random.randint(degrees_key, (bound,), 0, _DEGREE + 1)
        x = _draw_up_to(point_key, (), _POINT)
        inside = jnp.arange(bound) < length
        terms = coefficients * x**degrees
        terms = jnp.where(inside, terms, 0)
        value = terms.sum() % self.modulus
        if self.whole_terms:
            prompt = self._write_whole(coefficients, degrees, x)
            num_tokens = length + 1
        else:
            prompt = self._write_spelled(coefficients, degrees, x)
            num_tokens = 6 * length + 3
        mask = jnp.arange(len(prompt)) < num_tokens
        return one_symbol_example(prompt, mask, value)

    @property
    def _first_after_numbers(self) -> int:
        """The first symbol after the three negative numbers."""
        return self._negatives + 3

    def _write_whole(self, coefficients: Ints, degrees: Ints, x: Scalar) -> Int[Array, "p"]:
        # One symbol for each pair of a coefficient and a degree, after all numbers.
        row = coefficients + _COEFFICIENT
        pair = row * (_DEGREE + 1) + degrees
        terms = self._first_after_numbers + pair
        point = self._numbers(x[None])
        return jnp.concatenate([point, terms])

    def _write_spelled(self, coefficients: Ints, degrees: Ints, x: Scalar) -> Int[Array, "p"]:
        signs = []
        for i in range(len(_SIGNS)):
            sign = self._first_after_numbers + i
            signs.append(jnp.full_like(degrees, sign))
        unknown, equals, within, times, power, plus = signs  # in the order of _SIGNS
        columns = [
            self._numbers(coefficients),
            times,
            unknown,
            power,
            degrees,
            plus,
        ]
        terms = jnp.stack(columns, axis=1).reshape(-1)
        parts = [
            unknown[:1],
            equals[:1],
            self._numbers(x[None]),
            within[:1],
            terms[:-1],  # no plus after the last term
        ]
        return jnp.concatenate(parts)

    def _numbers(self, values: Ints) -> Ints:
        """Return the symbols of numbers."""
        negatives = self._negatives - 1 - values
        return jnp.where(values < 0, negatives, values)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        if self.whole_terms:
            return len(prompt) - 1
        return (len(prompt) - 3) // 6


def _draw_up_to(key: RandomKey, shape: tuple[int, ...], most: int) -> Int[Array, "..."]:
    """Draw uniform numbers of -most..most."""
    return jax.random.randint(key, shape, -most, most + 1)
