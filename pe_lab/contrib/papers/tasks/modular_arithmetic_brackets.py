"""Evaluate an expression with brackets, modulo a number.

    ( 1 + ( - 2 ) ) -> 4
    - 3 -> 2
    ( ( 2 ) - ( 1 + 4 ) ) -> 2  # multiplication=False

An expression of length 1 is a digit, of length 2 `-d`, of length 3 `(d)`, of length 4 `(-d)`. A
longer one is `(left operator right)`, and the length of its left part is uniform among the possible
ones. Short parts are frequent, so that most trees are unbalanced. Products make 0 the most frequent
value: a constant answer is right in 25 % of the examples at length 5, in 29 % at 41 and in 32 % at
500; without multiplication in 20 %.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "modular_arithmetic_brackets", modulus 5, lengths 1..40 in
training, up to 500 in the test.

Differs: their one-hot input has two symbols of the task solve_equation that never occur; here they
are omitted.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.tasks import _expressions
from pe_lab.tasks.base import Example, Task, Vocabulary, numerals, one_symbol_example


@dataclass(frozen=True)
class ModularArithmeticBrackets(Task):
    """The target is one symbol: the value of the prompt.

    Args:
      modulus: the modulus of the value. Digits are uniform on 0..modulus-1.
      multiplication: operators are uniform among plus, minus and times; else plus and minus.
    """

    modulus: int = 5
    multiplication: bool = True

    def __post_init__(self):
        _expressions.check_modulus("ModularArithmeticBrackets", self.modulus)

    @property
    def vocabulary(self) -> Vocabulary:
        names = [*numerals(self.modulus), "+", "-", "(", ")"]  # in the order of _expressions
        if self.multiplication:
            names.append("*")
        return Vocabulary.of(*names)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus)

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        prompt, _, value = _expressions.draw_expression(
            key, length, bound, self.modulus, 2 + self.multiplication
        )
        mask = jnp.arange(bound) < length
        return one_symbol_example(prompt, mask, value)
