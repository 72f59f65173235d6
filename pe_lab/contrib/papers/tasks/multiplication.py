"""Multiply long numbers.

    6 5 3 * 7 -> 1 7 5 4
    6 5 3 * 0 4 -> 2 1 6 2 0  # other_digits=2
    7 5 * 2 1 -> 4 8 6  # other_digits=None, padding="none", reverse_operands=True
    3 4 * 1 2 -> 8 6 0 + 4 3 0 = 8 6 0 0 > 8 0 4 0  # other_digits=None, scratchpad=True

In training, length n is an upper bound on the digits of the first operand, and of the second one if
`other_digits` is None; `lengths` is their distribution. In evaluation the longest of these operands
has exactly n digits, or all of them have n digits (`evaluate.exact_operands`).

Structure: "coupled" is the significance of a digit, in a partial product its significance in the
product; "symbols" are the digits; "grid" is (number, significance), with the operands in rows 1 and
2. Partial product k and running sum k are in row 2 + k; without a scratchpad the product is in row
3.

Papers: Cho et al. 2024 (https://arxiv.org/abs/2405.20671): "N×2 multiplication", `other_digits=2`,
1..40 digits in training, 100 in tests; by one digit, the default, in their code. Cho et al. 2025
(https://arxiv.org/abs/2410.15787): "multiplication", `other_digits=None, scratchpad=True`, 1..10
digits in training, up to 20 in tests of their scripts. McLeish et al. 2024
(https://arxiv.org/abs/2405.17399): "multiplication", `other_digits=None, padding="none",
reverse_operands=True, zero=False`, 1..15 digits in training, 25 in tests.

Differs: the separator of the layout replaces "=" after the operands. The code of Cho et al. 2024
numbers digits from the most significant one on, then "*" and "="; here the least significant digit
has number 1. In their code of 2025 a token has three positions, one of them its index in its own
partial product; here "grid" has the two others, and operands have rows as well.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks._arithmetic import Arithmetic, carried, num_digits
from pe_lab.tasks._number_text import (
    Text,
    concatenated,
    left_aligned,
    map_fields,
    number_text,
    separated,
    sign_text,
    text_example,
)
from pe_lab.tasks.base import Example, Scalar, Vocabulary


@dataclass(frozen=True)
class Multiplication(Arithmetic):
    """The target is the product of the prompt's operands.

    Args:
      other_digits: the digits of the second operand, which may be zeros whatever `zero` says; None
        to draw it like the first one.
      padding: "answer": the product has leading zeros, up to the number of digits of both operands;
        or "none".
      scratchpad: the target is the first operand times each digit of the second one (the least
        significant first), separated by "+"; then "="; then the running sums of these products,
        separated by ">". The last sum is scored. All numbers have at least the digits of the first
        operand. With padding, products have one digit more, and sums have the digits of both
        operands.
    """

    other_digits: int | None = 1
    padding: Literal["none", "answer"] = "answer"
    scratchpad: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.other_digits is not None and self.other_digits < 1:
            raise ValueError(
                f"Multiplication needs a second operand of one digit or more, got "
                f"other_digits={self.other_digits}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        signs = ("*", "+", "=", ">") if self.scratchpad else ("*",)
        return Vocabulary.of(*self.digit_names, *signs)

    @property
    def has_scratchpad(self) -> bool:
        return self.scratchpad

    def _second_digits(self, length: int) -> int:
        """Return the largest number of digits of the second operand."""
        return length if self.other_digits is None else self.other_digits

    def prompt_bound(self, length: int) -> int:
        return length + 1 + self._second_digits(length)

    def target_bound(self, length: int) -> int:
        second_digits = self._second_digits(length)
        product = length + second_digits
        if not self.scratchpad:
            return product
        num_signs = 2 * second_digits - 1
        return second_digits * (length + 1 + product) + num_signs

    def sample(self, key, length, bound, data=None) -> Example:
        lengths_key, first_key, second_key = jax.random.split(key, 3)
        second_digits = self._second_digits(bound)
        if self.other_digits is None:
            lengths = self.draw_lengths(lengths_key, length, 2)
            second = self.draw_number(second_key, lengths[1], second_digits)
        else:
            first_length = self.draw_lengths(lengths_key, length, 1)
            lengths = jnp.append(first_length, second_digits)
            second = jax.random.randint(second_key, (second_digits,), 0, self.base)
        first = self.draw_number(first_key, lengths[0], bound)
        padded_first = jnp.pad(first, (0, second_digits))
        padded_second = jnp.pad(second, (0, bound))
        operands = jnp.stack([padded_first, padded_second])

        prompt = number_text(operands, lengths, self.reverse_operands)
        prompt = separated(prompt, self.symbol_id("*"))
        products = second[:, None] * first[None]
        if self.scratchpad:
            target = self._scratchpad(products, lengths)
        else:
            target = self._product(products, lengths)
        return text_example(
            left_aligned(prompt, self.prompt_bound(bound)),
            left_aligned(target, self.target_bound(bound)),
        )

    def _product(self, products: Int[Array, "m n"], lengths: Int[Array, "2"]) -> Text:
        """Write the product; row j of `products` is the first operand times digit j."""
        columns = _shifted(products).sum(axis=0)
        digits, _ = carried(columns, self.base)
        width = num_digits(digits) if self.padding == "none" else lengths.sum()
        return number_text(
            digits[None],
            width[None],
            self.reverse_answer,
            row=jnp.array([3]),
            scored=True,
        )

    def _scratchpad(self, products: Int[Array, "m n"], lengths: Int[Array, "2"]) -> Text:
        """Write the partial products and their running sums."""
        number = jnp.arange(len(products))
        row = 3 + number
        is_last = number == lengths[1] - 1
        reverse = self.reverse_answer

        with_room = jnp.pad(products, ((0, 0), (0, 1)))  # for the last carry
        digits, _ = carried(with_room, self.base)
        widths = self._widths(digits, lengths, lengths[0] + 1)
        partial_products = number_text(digits, widths, reverse, row, shift=number)

        columns = jnp.cumsum(_shifted(products), axis=0)
        digits, _ = carried(columns, self.base)
        widths = self._widths(digits, lengths, lengths.sum())
        running_sums = number_text(digits, widths, reverse, row, scored=is_last)

        partial_products = separated(partial_products, self.symbol_id("+"))
        equals = sign_text(self.symbol_id("="), jnp.ones(1, bool))
        running_sums = separated(running_sums, self.symbol_id(">"))
        return concatenated(
            map_fields(jnp.ravel, partial_products),
            equals,
            map_fields(jnp.ravel, running_sums),
        )

    def _widths(
        self, digits: Int[Array, "m w"], lengths: Int[Array, "2"], padded_width: Scalar
    ) -> Int[Array, "m"]:
        """Return the width of each number of the scratchpad; 0 for numbers it does not have."""
        width = padded_width
        if self.padding == "none":
            width = jnp.maximum(num_digits(digits), lengths[0])
        has_number = jnp.arange(len(digits)) < lengths[1]
        return jnp.where(has_number, width, 0)

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        if self.padding != "none":
            return None
        return self.reveals_unpadded(structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        operands = self.operands_of(prompt, "*")
        if self.other_digits is not None:
            operands = operands[:1]
        return max(map(self.num_written_digits, operands))


def _shifted(rows: Int[Array, "m n"]) -> Int[Array, "m m+n"]:
    """Shift row j by j digits, as in long multiplication."""
    m, n = rows.shape
    width = m + n
    # Rows of m + n + 1 values that are cut into rows of m + n shift by one value each.
    padded_rows = jnp.pad(rows, ((0, 0), (0, m + 1)))
    values = padded_rows.ravel()
    return values[: m * width].reshape(m, width)
