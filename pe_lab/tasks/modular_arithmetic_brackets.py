"""The value of an expression with brackets, modulo a number.

    ( 1 + ( - 2 ) ) -> 4
    - 3 -> 2
    ( ( 2 ) - ( 1 + 4 ) ) -> 2  # multiplication=False

An expression of length 1 is a digit, of 2 `-d`, of 3 `(d)`, of 4 `(-d)`; a longer one is `(left
operator right)`, with the length of its left uniform on all that leave a right. Short parts are
many, so most trees are far from even. Products make 0 the most frequent value: a constant answer is
right in 25 % of the cases at length 5, in 29 % at 41 and in 32 % at 500; without multiplication in
20 %.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "modular_arithmetic_brackets", modulus 5, lengths 1..40 in
training, up to 500 in the test.

Differs: their one-hot input has two symbols more, of the sister task solve_equation, that are never
drawn; here there are none.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from pe_lab.tasks import _expressions
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class ModularArithmeticBrackets(Task):
    """The target is one symbol: the value of the prompt.

    Args:
      modulus: of the value; the digits are 0..modulus-1, each uniform.
      multiplication: operators are plus, minus and times, each a third; else plus and minus.
    """

    modulus: int = 5
    multiplication: bool = True

    def __post_init__(self):
        _expressions.checked("ModularArithmeticBrackets", self.modulus)

    @property
    def vocabulary(self) -> Vocabulary:
        names = (*map(str, range(self.modulus)), "+", "-", "(", ")", *("*" * self.multiplication))
        return Vocabulary(len(names), names)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus)

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        prompt, _, value = _expressions.drawn(
            key, length, bound, self.modulus, 2 + self.multiplication
        )
        one = jnp.ones(1, bool)
        return Example(prompt, jnp.arange(bound) < length, value[None], one, one, jnp.full(1, -1))

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        return np.array([_expressions.value_of(prompt.tolist(), self.modulus)])
