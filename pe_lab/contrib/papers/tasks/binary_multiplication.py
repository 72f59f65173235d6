"""The product of two binary numbers, least significant bit first.

    0 0 1 * 0 1 1 0 1 -> 0 0 0 1 1 0 1 end 0
    1 0 0 1 * 0 0 0 0 0 1 -> 0 0 0 0 0 1 0 0 1  # padded=False
    0 1 -> 0 end

The length counts both numbers and the operator. The size of the first number is uniform among those
that leave a bit for the second one. Each number is uniform among the positive numbers of its size,
with zeros after its highest bit. A prompt of one symbol has the empty result, and a prompt of two
symbols has the result 0. Their bits are uniform, but not all of them are 1.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "binary_multiplication", lengths 1..40 in training, up to 500 in
the test. Their target is as long as the prompt. Their loss counts all of it; their accuracy ends
with the terminator.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.tasks._binary import TwoNumbers


@dataclass(frozen=True)
class BinaryMultiplication(TwoNumbers):
    """The target is the product. Bits of equal significance are coupled."""

    operator = "*"
    extra = 0

    def columns(self, a, b):
        """Return the sum of the shifted second number over the bits of the first one."""

        def step(state, bit):
            total, shifted_b = state
            # No bit wraps around: the sizes add up to less than the width.
            return (total + bit * shifted_b, jnp.roll(shifted_b, 1)), None

        start = (jnp.zeros_like(b), b)
        (total, _), _ = jax.lax.scan(step, start, a)
        return total
