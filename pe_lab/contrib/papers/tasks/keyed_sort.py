"""Sort labels by their numbers.

    A : 3 2 1 , B : 5 4 -> B , A
    C : 7 , D : 3 0 , E : 6 -> E , C , D  # reverse=False

Numbers start with their least significant digit, so A has 123 and B has 45. Every second target
token is a comma, which does not depend on the prompt: half of the target is right without it.

Papers: McLeish et al. 2024 (https://arxiv.org/abs/2405.17399): "sorting", up to 10 numbers of up to
10 digits in training and 30 of 30 in testing. Checked in the authors' code (mcleish7/arithmetic,
create_data_split.py): the largest number of digits is uniform on 1..max_digits for each list, and
each number's digits are uniform up to it; labels are neighbors in a cyclic list of 102 symbols.

Differs: the separator replaces the equals sign. Some of their labels are tokens with another use
(comma and colon); here labels are symbols of their own.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks._strings import joined
from pe_lab.tasks.base import (
    Bools,
    Example,
    Ints,
    RandomKey,
    Scalar,
    Task,
    Vocabulary,
    make_example,
    numerals,
)

_COMMA, _COLON, _LABELS = 10, 11, 12
_CHUNK = 9  # an int32 holds any number of 9 digits
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class KeyedSort(Task):
    """The target is the labels in ascending order of their numbers, separated by commas.

    Equal numbers keep their order. "symbols" are the digits alone.

    Args:
      max_digits: the most digits of a number, which does not start with 0.
      fewer: the largest number of digits is random for each list, as in training; else it is
        max_digits, as in testing.
      reverse: numbers start with the least significant digit.
      num_labels: the size of the cyclic list of labels, and the longest list. The labels of a list
        are neighbors from a uniform start.
    """

    max_digits: int = 10
    fewer: bool = True
    reverse: bool = True
    num_labels: int = 102

    length_name = "items"

    def __post_init__(self):
        if self.max_digits < 1 or self.num_labels < 2:
            raise ValueError(
                f"KeyedSort needs a digit and two labels or more, got {self.max_digits} and "
                f"{self.num_labels}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        labels = list(_LETTERS[: self.num_labels])
        for number in range(len(_LETTERS), self.num_labels):
            labels.append(f"L{number}")
        return Vocabulary.of(*numerals(10), ",", ":", *labels)

    @property
    def max_length(self) -> int | None:
        return self.num_labels

    def prompt_bound(self, length: int) -> int:
        return max(length * (self.max_digits + 3) - 1, 0)

    def target_bound(self, length: int) -> int:
        return max(2 * length - 1, 0)

    def sample(self, key, length, bound, data=None) -> Example:
        start_key, numbers_key = jax.random.split(key)
        start = jax.random.randint(start_key, (), 0, self.num_labels)
        label = (start + jnp.arange(bound)) % self.num_labels
        labels = _LABELS + label
        mask = jnp.arange(bound) < length
        digits, widths = self._draw_numbers(numbers_key, bound)
        items = self._items(labels, digits, widths)
        item_widths = widths + 3  # label, colon and comma
        present_widths = jnp.where(mask, item_widths, 0)
        prompt, prompt_mask = joined(items, present_widths, self.prompt_bound(bound))
        is_digit = prompt_mask & (prompt < _COMMA)

        index = jnp.arange(self.target_bound(bound))
        target_mask = index < 2 * length - 1
        is_label = target_mask & (index % 2 == 0)
        order = _ascending(digits, mask)
        item = order[index // 2]
        starts = jnp.cumsum(item_widths) - item_widths
        return make_example(
            prompt,
            prompt_mask,
            jnp.where(is_label, labels[item], _COMMA),
            target_mask,
            alignment=jnp.where(is_label, starts[item], -1),
            structure={"symbols": (is_digit, jnp.zeros_like(target_mask))},
        )

    def _draw_numbers(self, key: RandomKey, bound: int) -> tuple[Int[Array, "n d"], Ints]:
        """Draw the digits of `bound` numbers, the least significant first, and their counts."""
        most_key, width_key, first_key, rest_key = jax.random.split(key, 4)
        most: Scalar | int = self.max_digits
        if self.fewer:
            most = jax.random.randint(most_key, (), 1, self.max_digits + 1)
        widths = jax.random.randint(width_key, (bound,), 1, most + 1)

        # One draw gives _CHUNK digits.
        num_chunks = (self.max_digits - 1) // _CHUNK + 1
        chunks = jax.random.randint(rest_key, (bound, num_chunks), 0, 10**_CHUNK)
        index = jnp.arange(self.max_digits)
        chunk = chunks[:, index // _CHUNK]
        power = 10 ** (index % _CHUNK)
        digits = chunk // power[None] % 10
        # The most significant digit is not 0.
        first = jax.random.randint(first_key, (bound, 1), 1, 10)
        significance = index[None]
        is_first = significance == widths[:, None] - 1
        digits = jnp.where(is_first, first, digits)
        in_number = significance < widths[:, None]
        return jnp.where(in_number, digits, 0), widths

    def _items(self, labels: Ints, digits: Int[Array, "n d"], widths: Ints) -> Int[Array, "n w"]:
        """Write the items, [N, max_digits + 3]: label, colon, digits, comma."""
        size = self.max_digits + 3
        column = jnp.arange(size)[None]
        widths = widths[:, None]
        significance = column - 2 if self.reverse else widths + 1 - column
        index = jnp.clip(significance, 0, self.max_digits - 1)
        index = jnp.broadcast_to(index, (len(labels), size))
        written_digits = jnp.take_along_axis(digits, index, axis=1)
        return jnp.select(
            [column == 0, column == 1, column < widths + 2],
            [labels[:, None], _COLON, written_digits],
            _COMMA,
        )

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """Return what the structure reveals: the alignment of a target token shows its label."""
        if structure == "coupled" and not causal:
            return "answer"
        return None

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return prompt.tolist().count(_COLON)


def _ascending(digits: Int[Array, "n d"], mask: Bools) -> Ints:
    """Return the order of numbers, padding last, by comparing chunks of digits that fit int32."""
    keys = []
    for start in range(0, digits.shape[1], _CHUNK):
        chunk = digits[:, start : start + _CHUNK]
        exponents = jnp.arange(chunk.shape[1], dtype=jnp.int32)
        powers = 10**exponents
        number = (chunk * powers[None]).sum(axis=1)
        keys.append(number)
    return jnp.lexsort((*keys, ~mask))  # the last key is the primary one
