"""Solve an equation with one unknown digit and brackets, modulo a number.

    ( x + 2 ) = 0 -> 3
    ( 1 - ( - x ) ) = 4 -> 3
    0 0 -> 0

The left side is an expression of modular_arithmetic_brackets without times, two symbols shorter
than the equation. The unknown occurs once, with plus or minus, so that one digit solves the
equation: a guess is right in one of `modulus` examples. The unknown replaces the first digit from a
uniform index on, cyclically; digits after many brackets are more likely. Below length 3 there is no
equation: prompt and answer are zeros.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "solve_equation", modulus 5, lengths 1..40 in training, up to
500 in the test.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.tasks import _expressions
from pe_lab.tasks.base import Example, Task, Vocabulary, numerals, one_symbol_example

# Symbols, counted from the modulus, after the symbols of an expression without times.
_UNKNOWN, _EQUALS = 4, 5


@dataclass(frozen=True)
class SolveEquation(Task):
    """The target is one symbol: the value of the unknown.

    Args:
      modulus: the modulus of the values. Digits are uniform on 0..modulus-1.
    """

    modulus: int = 5

    def __post_init__(self):
        _expressions.check_modulus("SolveEquation", self.modulus)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*numerals(self.modulus), "+", "-", "(", ")", "x", "=")

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus)

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        expression_key, index_key = jax.random.split(key)
        index = jnp.arange(bound)
        side = jnp.maximum(length - 2, 1)  # the symbols before the equals sign
        expression, is_digit, value = _expressions.draw_expression(
            expression_key, side, bound, self.modulus, num_operators=2
        )
        # The first digit from a random index on, cyclically, becomes the unknown.
        start = jax.random.randint(index_key, (), 0, side)
        steps_ahead = (index - start) % side
        in_side = index < side
        unknown = jnp.where(is_digit & in_side, steps_ahead, bound).argmin()
        equation = jnp.select(
            [index == unknown, in_side, index == side, index == side + 1],
            [self.modulus + _UNKNOWN, expression, self.modulus + _EQUALS, value],
            0,
        )
        has_equation = length > 2
        prompt = jnp.where(has_equation, equation, 0)
        solution = jnp.where(has_equation, expression[unknown], 0)
        return one_symbol_example(prompt, index < length, solution)
