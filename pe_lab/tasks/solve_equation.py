"""The unknown digit of an expression with brackets whose value is given, modulo a number.

    ( x + 2 ) = 0 -> 3
    ( 1 - ( - x ) ) = 4 -> 3
    0 0 -> 0

The left side is an expression of modular_arithmetic_brackets without times, two symbols shorter
than the equation, so the unknown counts once, with plus or minus, and one digit solves it: chance
is one in `modulus`. A random place of it is chosen, and the first digit from there on, around the
end, becomes the unknown: digits behind many brackets are chosen more often. Below length 3 there is
no equation: prompt and answer are zeros.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "solve_equation", modulus 5, lengths 1..40 in training, up to
500 in the test.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks import _expressions
from pe_lab.tasks.base import Example, Task, Vocabulary

_UNKNOWN, _EQUALS = range(
    4, 6
)  # symbols, counted from the modulus, behind those of an expression without times


@dataclass(frozen=True)
class SolveEquation(Task):
    """The target is one symbol: the digit that the unknown stands for.

    Args:
      modulus: of the values; the digits are 0..modulus-1, each uniform.
    """

    modulus: int = 5

    def __post_init__(self):
        _expressions.checked("SolveEquation", self.modulus)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(
            self.modulus + 6, (*map(str, range(self.modulus)), "+", "-", "(", ")", "x", "=")
        )

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus)

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        of_expression, of_place = jax.random.split(key)
        place, side = (
            jnp.arange(bound),
            jnp.maximum(length - 2, 1),
        )  # symbols before the equals sign
        expression, is_digit, value = _expressions.drawn(
            of_expression, side, bound, self.modulus, 2
        )
        ahead = (place - jax.random.randint(of_place, (), 0, side)) % side
        unknown = jnp.where(is_digit & (place < side), ahead, bound).argmin()
        equation = jnp.select(
            [place == unknown, place < side, place == side, place == side + 1],
            [self.modulus + _UNKNOWN, expression, self.modulus + _EQUALS, value],
            0,
        )
        there, one = length > 2, jnp.ones(1, bool)
        solution = jnp.where(there, expression[unknown], 0)
        return Example(
            jnp.where(there, equation, 0), place < length, solution[None], one, one, jnp.full(1, -1)
        )

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        if len(prompt) < 3:
            return np.array([0])
        *side, _, value = prompt.tolist()
        tried = [
            [d if s == self.modulus + _UNKNOWN else s for s in side] for d in range(self.modulus)
        ]
        return np.array(
            [
                d
                for d, filled in enumerate(tried)
                if _expressions.value_of(filled, self.modulus) == value
            ]
        )
