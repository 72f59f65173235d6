"""The value of an expression of digits, plus, minus and times, without brackets, modulo a number.

    1 + 2 * 3 -> 2
    1 - 1 - 1 -> 4
    6 -> 6  # modulus=7

Times binds before plus and minus. One answer token, so chance is one in `modulus` at every length.
An expression has an odd number of symbols, so an even length is an upper bound: its examples have
one symbol less.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "modular_arithmetic", modulus 5, lengths 1..40 in training, up
to 500 in the test.

Differs: their one-hot input has a symbol more, a blank that is never drawn; here there is none.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._expressions import checked
from pe_lab.tasks.base import Example, Task, Vocabulary

_PLUS, _MINUS, _TIMES = range(3)  # symbols, counted from the modulus


@dataclass(frozen=True)
class ModularArithmetic(Task):
    """The target is one symbol: the value of the prompt.

    Args:
      modulus: of the value; the digits are 0..modulus-1, each operator and digit uniform.
    """

    modulus: int = 5

    def __post_init__(self):
        checked("ModularArithmetic", self.modulus)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus + 3, (*map(str, range(self.modulus)), "+", "-", "*"))

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.modulus)

    def prompt_bound(self, length: int) -> int:
        return length - (length % 2 == 0)

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        of_digits, of_operators = jax.random.split(key)
        half = (bound + 1) // 2
        digits = jax.random.randint(of_digits, (half,), 0, self.modulus)
        operators = jax.random.randint(of_operators, (half,), 0, 3)  # after its digit
        inside = 2 * jnp.arange(half) < length
        value = self._value(
            jnp.where(inside, digits, 0), jnp.roll(operators, 1).at[0].set(_PLUS), inside
        )
        prompt = jnp.stack([digits, self.modulus + operators], axis=1).reshape(-1)[
            : self.prompt_bound(bound)
        ]
        mask = jnp.arange(len(prompt)) < length - (length % 2 == 0)
        one = jnp.ones(1, bool)
        return Example(jnp.where(mask, prompt, 0), mask, value[None], one, one, jnp.full(1, -1))

    def _value(self, digits, operators, inside):
        """Of the expression; each operator stands before its digit."""

        def step(state, following):
            total, term = state
            digit, operator, is_inside = following
            times = operator == _TIMES
            signed = jnp.where(operator == _MINUS, -digit, digit)
            new = jnp.where(times, total, total + term), jnp.where(times, term * digit, signed)
            return tuple(
                jnp.where(is_inside, n % self.modulus, old)
                for n, old in zip(new, state, strict=True)
            ), None

        zero = jnp.zeros((), jnp.int32)
        (total, term), _ = jax.lax.scan(step, (zero, zero), (digits, operators, inside))
        return (total + term) % self.modulus

    def evaluation_lengths(self, length: int) -> range:
        longest = self.prompt_bound(length)
        return range(longest, longest + 1)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        words = self.vocabulary.text(prompt.tolist()).replace("- ", "+ -1 * ").split(" + ")
        return np.array(
            [
                sum(
                    int(np.prod([int(w) for w in term.split(" * ")], dtype=object))
                    for term in words
                )
                % self.modulus
            ]
        )
