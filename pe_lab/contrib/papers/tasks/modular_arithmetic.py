"""Evaluate digits with plus, minus and times, without brackets, modulo a number.

    1 + 2 * 3 -> 2
    1 - 1 - 1 -> 4
    6 -> 6  # modulus=7

Times precedes plus and minus. The answer is one token, so a guess is right in about one of
`modulus` examples; 0 is a little more frequent in short expressions, because of products. An
expression has an odd number of symbols, so an even length is an upper bound: its examples have one
symbol less.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "modular_arithmetic", modulus 5, lengths 1..40 in training, up
to 500 in the test.

Differs: their one-hot input has a blank symbol that never occurs; here it is omitted.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.tasks._expressions import check_modulus
from pe_lab.tasks.base import (
    Bools,
    Example,
    Ints,
    Scalar,
    Task,
    Vocabulary,
    numerals,
    one_symbol_example,
)

_PLUS, _MINUS, _TIMES = range(3)  # symbols, counted from the modulus


@dataclass(frozen=True)
class ModularArithmetic(Task):
    """The target is one symbol: the value of the prompt.

    Args:
      modulus: the modulus of the value. Digits are uniform on 0..modulus-1, operators are uniform.
    """

    modulus: int = 5

    def __post_init__(self):
        check_modulus("ModularArithmetic", self.modulus)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*numerals(self.modulus), "+", "-", "*")

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus)

    def prompt_bound(self, length: int) -> int:
        return length - 1 + length % 2

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        digits_key, operators_key = jax.random.split(key)
        most_digits = (bound + 1) // 2
        digits = jax.random.randint(digits_key, (most_digits,), 0, self.modulus)
        operators = jax.random.randint(operators_key, (most_digits,), 0, 3)  # after each digit
        pairs = jnp.stack([digits, self.modulus + operators], axis=1)
        prompt = pairs.reshape(-1)[: self.prompt_bound(bound)]
        # An even length has one symbol less.
        mask = jnp.arange(len(prompt)) < length - 1 + length % 2

        inside = 2 * jnp.arange(most_digits) < length
        operators_before = jnp.roll(operators, 1)
        operators_before = operators_before.at[0].set(_PLUS)
        digits = jnp.where(inside, digits, 0)
        value = self._value(digits, operators_before, inside)
        return one_symbol_example(prompt, mask, value)

    def _value(self, digits: Ints, operators: Ints, inside: Bools) -> Scalar:
        """Evaluate an expression; each operator precedes its digit."""

        def step(state, inputs):
            total, term = state
            digit, operator, is_inside = inputs
            is_times = operator == _TIMES
            signed_digit = jnp.where(operator == _MINUS, -digit, digit)
            # Times extends the last term; plus and minus add it and start another one.
            new_total = jnp.where(is_times, total, total + term)
            new_term = jnp.where(is_times, term * digit, signed_digit)
            # In every step, so that products of two terms stay below 2^31.
            new_total = new_total % self.modulus
            new_term = new_term % self.modulus
            # Symbols outside of the expression leave the state unchanged.
            total = jnp.where(is_inside, new_total, total)
            term = jnp.where(is_inside, new_term, term)
            return (total, term), None

        zero = jnp.zeros((), jnp.int32)
        inputs = (digits, operators, inside)
        (total, term), _ = jax.lax.scan(step, (zero, zero), inputs)
        return (total + term) % self.modulus

    def evaluation_lengths(self, length: int) -> range:
        longest = self.prompt_bound(length)
        return range(longest, longest + 1)
