"""Shared parts of the tasks on binary numbers: arrays of bits, least significant first."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from pe_lab.tasks.base import Example, RandomKey, Scalar, Task, Vocabulary, make_example

_MARK = 2  # the operator in prompts, the terminator in targets


def positive(key: RandomKey, size: Scalar, bound: int) -> Int[Array, "b"]:
    """Draw a number uniformly from 1..2^size - 1.

    The number of leading zeros of random bits, modulo the size, has the geometric distribution
    truncated at the size, so that no draw is rejected. It would be exact for endless random bits;
    with 32 bits, one draw in 2^32 differs.
    """
    bits_key, zeros_key = jax.random.split(key)
    random_bits = jax.random.bits(zeros_key, (), jnp.uint32)
    num_zeros = jax.lax.clz(random_bits).astype(jnp.int32) % size
    highest = size - 1 - num_zeros
    index = jnp.arange(bound)
    bits = jax.random.randint(bits_key, (bound,), 0, 2)
    return jnp.where(index < highest, bits, (index == highest).astype(jnp.int32))


def carried(columns: Int[Array, "b"]) -> Int[Array, "b"]:
    """Return the bits of a number whose columns hold any counts."""

    def step(carry, count):
        return (carry + count) // 2, (carry + count) % 2

    return jax.lax.scan(step, jnp.zeros((), jnp.int32), columns)[1]


@dataclass(frozen=True)
class TwoNumbers(Task):
    """Base class of tasks that compute a result from two binary numbers.

    Args:
      padded: the target is the result, a terminator, and zeros up to a length that does not depend
        on the result, as in the papers; the answer ends with the terminator. Else the target is the
        result alone, and the end token of the layout marks its end.
    """

    padded: bool = True

    length_name = "symbols"
    operator: ClassVar[str]
    extra: ClassVar[int]  # symbols of a padded target beyond the prompt's

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(3, ("0", "1", self.operator))

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(3, ("0", "1", "end")) if self.padded else Vocabulary(2)

    @property
    def min_length(self) -> int:
        return 1 if self.padded else 3

    @property
    def has_scratchpad(self) -> bool:
        return self.padded

    def target_bound(self, length: int) -> int:
        return length + self.extra if self.padded else length - 1

    def columns(self, a: Int[Array, "b"], b: Int[Array, "b"]) -> Int[Array, "b"]:
        """Return the result before carries."""
        raise NotImplementedError

    def sample(self, key, length, bound, data=None) -> Example:
        size_key, first_key, second_key = jax.random.split(key, 3)
        is_single = length < 3  # the prompt is one number, which may be 0
        random_size = jax.random.randint(size_key, (), 1, jnp.maximum(length - 1, 2))
        size = jnp.where(is_single, length, random_size)
        index = jnp.arange(bound)
        single = jax.random.randint(first_key, (), 0, 2 ** jnp.minimum(length, 2) - 1)
        second_size = jnp.maximum(length - 1 - size, 1)
        a = jnp.where(is_single, single >> index & 1, positive(first_key, size, bound))
        b = jnp.where(is_single, 0, positive(second_key, second_size, bound))

        mask = index < length
        is_operator = index == size
        # The second number follows the operator.
        shifted_b = b[jnp.clip(index - size - 1, 0, bound - 1)]
        prompt = jnp.select([index < size, is_operator], [a, _MARK], shifted_b)
        significance = jnp.select([index < size, is_operator], [index + 1, 0], index - size)

        target_index = jnp.arange(self.target_bound(bound))
        # One more column has room for the last carry.
        bits = carried(self.columns(jnp.pad(a, (0, 1)), jnp.pad(b, (0, 1))))
        target, target_mask, answer_mask = self._target(bits, length, target_index)
        # The labels of a target do not depend on the length of the result.
        target_significance = jnp.where(target_mask, target_index + 1, 0)
        return make_example(
            prompt,
            mask,
            target,
            target_mask,
            answer_mask=answer_mask,
            structure={
                "symbols": (mask & ~is_operator, target_mask),
                "coupled": (jnp.where(mask, significance, 0), target_significance),
            },
        )

    def _target(
        self, bits: Int[Array, "b"], length: Scalar, target_index: Int[Array, "t"]
    ) -> tuple[Int[Array, "t"], Bool[Array, "t"], Bool[Array, "t"]]:
        """Return the target, its mask and the mask of the answer."""
        most_digits = length - 1 + self.extra
        significant = jnp.where(bits > 0, jnp.arange(1, len(bits) + 1), 0).max()
        num_digits = jnp.clip(significant, 1, most_digits)
        in_result = target_index < num_digits
        result = jnp.where(in_result, bits[jnp.minimum(target_index, len(bits) - 1)], 0)
        if not self.padded:
            return result, in_result, in_result
        target = jnp.where(target_index == num_digits, _MARK, result)
        return target, target_index < length + self.extra, target_index <= num_digits
