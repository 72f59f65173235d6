"""Shared parts of the tasks on binary numbers: arrays of bits, least significant first."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from pe_lab.tasks._arithmetic import carried
from pe_lab.tasks.base import (
    Bools,
    Example,
    Ints,
    RandomKey,
    Scalar,
    Task,
    Vocabulary,
    make_example,
)

_MARK = 2  # the operator in prompts, the terminator in targets


def positive(key: RandomKey, size: Scalar, bound: int) -> Ints:
    """Draw a number uniformly from 1..2^size - 1.

    The number of leading zeros of random bits, modulo the size, has the geometric distribution
    truncated at the size, so that no draw is rejected. It would be exact for endless random bits;
    with 32 bits, one draw in 2^32 differs.
    """
    bits_key, zeros_key = jax.random.split(key)
    random_bits = jax.random.bits(zeros_key, (), jnp.uint32)
    num_zeros = jax.lax.clz(random_bits).astype(jnp.int32) % size
    highest = size - 1 - num_zeros
    bits = jax.random.randint(bits_key, (bound,), 0, 2)
    index = jnp.arange(bound)
    highest_bit = (index == highest).astype(jnp.int32)
    return jnp.where(index < highest, bits, highest_bit)


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
        return Vocabulary.of("0", "1", self.operator)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.of("0", "1", "end") if self.padded else Vocabulary(2)

    @property
    def min_length(self) -> int:
        return 1 if self.padded else 3

    @property
    def has_scratchpad(self) -> bool:
        return self.padded

    def target_bound(self, length: int) -> int:
        return length + self.extra if self.padded else length - 1

    def columns(self, a: Ints, b: Ints) -> Ints:
        """Return the result before carries."""
        raise NotImplementedError

    def sample(self, key, length, bound, data=None) -> Example:
        size_key, first_key, second_key = jax.random.split(key, 3)
        index = jnp.arange(bound)
        is_single = length < 3  # the prompt is one number, which may be 0
        num_sizes = jnp.maximum(length - 1, 2)
        random_size = jax.random.randint(size_key, (), 1, num_sizes)
        size = jnp.where(is_single, length, random_size)
        num_singles = 2 ** jnp.minimum(length, 2) - 1
        single = jax.random.randint(first_key, (), 0, num_singles)
        first = positive(first_key, size, bound)
        second_size = jnp.maximum(length - 1 - size, 1)
        second = positive(second_key, second_size, bound)
        a = jnp.where(is_single, single >> index & 1, first)
        b = jnp.where(is_single, 0, second)

        mask = index < length
        in_first = index < size
        is_operator = index == size
        # The second number follows the operator.
        index_in_second = index - size - 1
        shifted_b = b[jnp.clip(index_in_second, 0, bound - 1)]
        prompt = jnp.select([in_first, is_operator], [a, _MARK], shifted_b)
        significance = jnp.select(
            [in_first, is_operator],
            [index + 1, 0],
            index_in_second + 1,
        )

        # One more column has room for the last carry.
        wide_a = jnp.pad(a, (0, 1))
        wide_b = jnp.pad(b, (0, 1))
        bits, _ = carried(self.columns(wide_a, wide_b), base=2)
        target_index = jnp.arange(self.target_bound(bound))
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
        self, bits: Int[Array, "b"], length: Scalar, index: Ints
    ) -> tuple[Ints, Bools, Bools]:
        """Return the target, its mask and the mask of the answer."""
        significance = jnp.arange(1, len(bits) + 1)
        highest = jnp.where(bits > 0, significance, 0).max()
        num_digits = jnp.clip(highest, 1, length - 1 + self.extra)
        in_result = index < num_digits
        # Padding is longer than the bits.
        bit = bits[jnp.minimum(index, len(bits) - 1)]
        result = jnp.where(in_result, bit, 0)
        if not self.padded:
            return result, in_result, in_result
        target = jnp.where(index == num_digits, _MARK, result)
        mask = index < length + self.extra
        return target, mask, index <= num_digits
