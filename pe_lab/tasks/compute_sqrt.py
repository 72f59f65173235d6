"""The whole part of the square root of a binary number, most significant bit first.

    1 0 0 1 0 1 -> 1 1 0
    1 1 1 -> 1 0

The number is uniform on those above 0 of `length` bits, leading zeros included; its root has half
as many bits, rounded up. A predictor that sees the length alone is right for about 51 % of the
bits.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "compute_sqrt", lengths 1..40 in training, up to 500 in the
test. The example of 37 in their code's docstring prints 101 for its root 6; the code computes 110.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks._binary import positive
from pe_lab.tasks.base import Example, Task, Vocabulary

_LIMB = 28  # bits of a limb: four times one is below 2^31


@dataclass(frozen=True)
class ComputeSqrt(Task):
    """The target is the root of the prompt, without its fraction."""

    length_name = "bits"

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(2)

    def target_bound(self, length: int) -> int:
        return (length + 1) // 2

    def sample(self, key, length, bound, data=None) -> Example:
        place, step, size = (
            jnp.arange(bound),
            jnp.arange(self.target_bound(bound)),
            (length + 1) // 2,
        )
        number = positive(key, length, bound)
        root = _root(jnp.pad(number, (0, bound % 2)))
        mask, said = place < length, step < size
        prompt = jnp.where(mask, number[jnp.maximum(length - 1 - place, 0)], 0)
        target = jnp.where(said, root[jnp.maximum(size - 1 - step, 0)], 0)
        return Example(prompt, mask, target, said, said, jnp.full(len(step), -1))

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        number, low, high = int("".join(map(str, prompt)), 2), 0, 2 ** len(prompt)
        while high - low > 1:  # low^2 <= number < high^2
            middle = (low + high) // 2
            low, high = (middle, high) if middle * middle <= number else (low, middle)
        return np.array([int(bit) for bit in f"{low:0{(len(prompt) + 1) // 2}b}"])


def _root(number: Int[Array, "b"]) -> Int[Array, "h"]:
    """The bits of the root of an even number of bits, both least significant first: a bit for every
    two, from the top.

    With root r of what was read and remainder m, two more bits leave 4m + two, and the next bit of
    the root is whether 4r + 1 fits into it.
    """
    half = len(number) // 2
    limbs = -(
        -half // _LIMB
    )  # until the last bit m <= 2r has no more; larger differences show in what is carried out
    unit = (jnp.arange(limbs) == 0).astype(jnp.int32)

    def step(state, two):
        remainder, root = state
        grown = 4 * remainder + two * unit
        (less, grown, doubled), sign = _normal(
            jnp.stack([grown - 4 * root - unit, grown, 2 * root])
        )
        fits = sign[0] >= 0
        return (jnp.where(fits, less, grown), doubled + fits * unit), fits.astype(jnp.int32)

    zero = jnp.zeros(limbs, jnp.int32)
    return jax.lax.scan(step, (zero, zero), (number[::2] + 2 * number[1::2])[::-1])[1][::-1]


def _normal(rows: Int[Array, "r l"]) -> tuple[Int[Array, "r l"], Int[Array, "r"]]:
    """Numbers whose limbs are in range again, and what is carried out of the last: below 0 of
    negative ones.
    """
    limbs, carry = [], jnp.zeros(len(rows), jnp.int32)
    for limb in rows.T:
        limbs.append((limb + carry) & (2**_LIMB - 1))
        carry = (limb + carry) >> _LIMB
    return jnp.stack(limbs, axis=1), carry
