"""The whole part of the square root of a binary number, most significant bit first.

    1 0 0 1 0 1 -> 1 1 0
    1 1 1 -> 1 0

The number is uniform among the positive numbers of `length` bits, leading zeros included. Its root
has half as many bits, rounded up. A predictor that knows the length alone is right at about 51 % of
the bits.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "compute_sqrt", lengths 1..40 in training, up to 500 in the
test. The docstring of their code has an example with the root of 37 as 101; the code computes 110.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from pe_lab.tasks._binary import positive
from pe_lab.tasks.base import Example, Ints, Task, Vocabulary, make_example

_LIMB = 28  # bits of a limb, so that 4 limb + 3 is below 2^31


@dataclass(frozen=True)
class ComputeSqrt(Task):
    """The target is the square root of the prompt, rounded down."""

    length_name = "bits"

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(2)

    def target_bound(self, length: int) -> int:
        return (length + 1) // 2

    def sample(self, key, length, bound, data=None) -> Example:
        root_size = (length + 1) // 2
        number = positive(key, length, bound)
        even_number = jnp.pad(number, (0, bound % 2))
        root = _root(even_number)

        index = jnp.arange(bound)
        root_index = jnp.arange(self.target_bound(bound))
        # Both are written from the most significant bit on.
        significance = jnp.maximum(length - 1 - index, 0)
        root_significance = jnp.maximum(root_size - 1 - root_index, 0)
        prompt = number[significance]
        target = root[root_significance]
        return make_example(prompt, index < length, target, root_index < root_size)


def _root(number: Ints) -> Int[Array, "h"]:
    """Return the root of a number with an even number of bits, both least significant first.

    Each step reads two bits of the number, from the top, and finds one bit of the root. With root r
    and remainder m of the bits read so far, two more bits make the remainder 4m + pair, and the
    next bit of the root is 1 if that is at least 4r + 1.
    """
    half = len(number) // 2
    # Up to the last step m <= 2r, which has half + 1 bits. The carry shows larger differences.
    num_limbs = math.ceil(half / _LIMB)
    is_lowest = jnp.arange(num_limbs) == 0
    one = is_lowest.astype(jnp.int32)

    def step(state, pair):
        remainder, root = state
        remainder = 4 * remainder + pair * one
        difference = remainder - 4 * root - one
        rows = jnp.stack([difference, remainder, 2 * root])
        (difference, remainder, doubled_root), sign = _normalized(rows)
        # The difference is negative if its last carry is.
        fits = sign[0] >= 0
        remainder = jnp.where(fits, difference, remainder)
        root = doubled_root + fits * one
        return (remainder, root), fits.astype(jnp.int32)

    zero = jnp.zeros(num_limbs, jnp.int32)
    pairs = number[::2] + 2 * number[1::2]
    pairs_from_top = pairs[::-1]
    _, bits_from_top = jax.lax.scan(step, (zero, zero), pairs_from_top)
    return bits_from_top[::-1]


def _normalized(rows: Int[Array, "r l"]) -> tuple[Int[Array, "r l"], Int[Array, "r"]]:
    """Carry between the limbs of numbers; return their limbs and the last carry.

    The last carry of a negative number is negative.
    """
    limbs = []
    carry = jnp.zeros(len(rows), jnp.int32)
    largest_limb = 2**_LIMB - 1
    for limb in rows.T:
        total = limb + carry
        limbs.append(total & largest_limb)
        carry = total >> _LIMB
    return jnp.stack(limbs, axis=1), carry
