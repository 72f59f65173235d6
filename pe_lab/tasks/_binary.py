"""Binary numbers as arrays of bits, least significant first: what binary_addition and
binary_multiplication share.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from pe_lab.tasks.base import Example, Task, Vocabulary

_MARK = 2  # the operator in prompts, the terminator in targets


def positive(key: Key[Array, ""], size: Int[Array, ""], bound: int) -> Int[Array, "b"]:
    """A number uniform on 1..2^size - 1.

    Its leading zeros are those of a row of random bits, modulo the size: the geometric distribution
    cut at the size, without a draw that could fail. The row would have to be endless: with 32 bits
    one in 2^32 draws goes elsewhere.
    """
    of_bits, of_zeros = jax.random.split(key)
    first = jax.lax.clz(jax.random.bits(of_zeros, (), jnp.uint32)).astype(jnp.int32)
    top = size - 1 - first % size
    place = jnp.arange(bound)
    return jnp.where(
        place < top, jax.random.randint(of_bits, (bound,), 0, 2), (place == top).astype(jnp.int32)
    )


def carried(columns: Int[Array, "b"]) -> Int[Array, "b"]:
    """The bits of a number whose columns hold any counts."""
    return jax.lax.scan(
        lambda carry, count: ((carry + count) // 2, (carry + count) % 2),
        jnp.zeros((), jnp.int32),
        columns,
    )[1]


@dataclass(frozen=True)
class TwoNumbers(Task):
    """What is made of two binary numbers that share a prompt, and how its end is marked.

    Args:
      padded: the result, the terminator, and zeros up to a length that tells nothing of the result,
        as in the papers; the answer is what stands up to the terminator. Else the result alone,
        whose end a layout's end token marks.
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
        """The result, before carries."""
        raise NotImplementedError

    def result(self, numbers: list[int], length: int) -> int | None:
        """Of Python's own integers; None: it has no digits."""
        raise NotImplementedError

    def sample(self, key, length, bound, data=None) -> Example:
        of_size, of_a, of_b = jax.random.split(key, 3)
        alone = length < 3  # one number, which may be 0, fills the prompt
        size = jnp.where(
            alone, length, jax.random.randint(of_size, (), 1, jnp.maximum(length - 1, 2))
        )
        place, step = jnp.arange(bound), jnp.arange(self.target_bound(bound))
        single = jax.random.randint(of_a, (), 0, 2 ** jnp.minimum(length, 2) - 1) >> place & 1
        a = jnp.where(alone, single, positive(of_a, size, bound))
        b = jnp.where(alone, 0, positive(of_b, jnp.maximum(length - 1 - size, 1), bound))
        b_there = b[jnp.clip(place - size - 1, 0, bound - 1)]
        mask = place < length
        prompt = jnp.where(mask, jnp.select([place < size, place == size], [a, _MARK], b_there), 0)
        target, target_mask, answer_mask = self._target(self._bits(a, b), length, step)
        significance = jnp.select([place < size, place == size], [place + 1, 0], place - size)
        structure = {
            "symbols": (mask & (place != size), target_mask),
            "coupled": (jnp.where(mask, significance, 0), jnp.where(target_mask, step + 1, 0)),
        }
        return Example(
            prompt,
            mask,
            target,
            target_mask,
            answer_mask,
            jnp.full(len(step), -1),
            structure=structure,
        )

    def _bits(self, a, b):
        """Of the result, with room for a carry."""
        return carried(self.columns(*(jnp.pad(number, (0, 1)) for number in (a, b))))

    def _target(self, bits, length, step):
        """Target, its mask and the answer's; the structure of a target tells its places, never
        where the result ends.
        """
        room = length - 1 + self.extra  # digits that a result can have
        digits = jnp.clip(jnp.where(bits > 0, jnp.arange(1, len(bits) + 1), 0).max(), 1, room)
        inside = step < digits
        bits = jnp.where(inside, bits[jnp.minimum(step, len(bits) - 1)], 0)
        if not self.padded:
            return bits, inside, inside
        return jnp.where(step == digits, _MARK, bits), step < length + self.extra, step <= digits

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        numbers = "".join(map(str, prompt)).split(str(_MARK))
        result = self.result([int(number[::-1], 2) for number in numbers], len(prompt))
        bits = [] if result is None else [int(bit) for bit in f"{result:b}"[::-1]]
        padding = [_MARK, *[0] * (len(prompt) + self.extra - len(bits) - 1)]
        return np.array(bits + padding if self.padded else bits)
