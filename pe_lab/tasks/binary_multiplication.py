"""The product of two binary numbers, least significant bit first.

    0 0 1 * 0 1 1 0 1 -> 0 0 0 1 1 0 1 end 0
    1 0 0 1 * 0 0 0 0 0 1 -> 0 0 0 0 0 1 0 0 1  # padded=False
    0 1 -> 0 end

The length counts both numbers and the sign between them. The first number's size is uniform on all
that leave a bit to the second; each number is uniform on those above 0 that fit its size, zeros
behind its highest one. Prompts of one or two symbols are one number, and the answer is none or one
zero.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "binary_multiplication", lengths 1..40 in training, up to 500 in
the test. Their target is as long as the prompt, their loss counts all of it, their accuracy what
stands up to the terminator.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.tasks._binary import TwoNumbers


@dataclass(frozen=True)
class BinaryMultiplication(TwoNumbers):
    """The target is the product. Bits of one significance are coupled."""

    operator = "*"
    extra = 0

    def columns(self, a, b):
        """The shifted sum of schoolbooks: sizes add up to less than the width, so no one is rolled
        around its end.
        """

        def step(state, bit):
            total, shifted = state
            return (total + bit * shifted, jnp.roll(shifted, 1)), None

        return jax.lax.scan(step, (jnp.zeros_like(b), b), a)[0][0]

    def result(self, numbers: list[int], length: int) -> int | None:
        if len(numbers) == 1:
            return 0 if length == 2 else None
        return numbers[0] * numbers[1]
