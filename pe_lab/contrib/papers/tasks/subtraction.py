"""Subtract a long number from another.

    6 5 3 - 0 4 9 -> 4 0 6
    0 4 9 - 6 5 3 -> 4 0 6 -  # negative=True
    5 0 1 - 7 -> 8 9  # padding="none", reverse_operands=True
    7 - 5 0 1 -> 8 9 -  # padding="none", reverse_operands=True, negative=True
    1 2 - 3 0 -> - 1 8  # reverse_answer=False, negative=True

In training, length n is an upper bound on the digits of an operand, and `lengths` is their
distribution. In evaluation the longest operand has exactly n digits, or both have n digits
(`evaluate.exact_operands`).

Structure: "coupled" is the significance of a digit, so that digits that are subtracted share a
number; "symbols" are the digits; "grid" is (number, significance), with the difference as number 3.
A sign is not a digit.

No paper: the task is in the code of McLeish et al. 2024 (https://arxiv.org/abs/2405.17399), as
`padding="none", reverse_operands=True, negative=True, zero=False`. The defaults follow
addition in Cho et al. 2024 (https://arxiv.org/abs/2405.20671).

Differs: the separator of the layout replaces "=".
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._arithmetic import Arithmetic, carried, num_digits
from pe_lab.tasks._number_text import (
    concatenated,
    left_aligned,
    number_text,
    separated,
    sign_text,
    text_example,
)
from pe_lab.tasks.base import Example, Vocabulary


@dataclass(frozen=True)
class Subtraction(Arithmetic):
    """The target is the first operand minus the second one.

    Args:
      padding: "longest": leading zeros of the operands and the difference, up to the digits of the
        longer operand; or "none".
      negative: the difference may be below 0, with "-" next to its most significant digit; else the
        larger operand comes first.
    """

    padding: Literal["none", "longest"] = "longest"
    negative: bool = False

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.base + 1, (*self.digit_names, "-"))

    def prompt_bound(self, length: int) -> int:
        return 2 * length + 1

    def target_bound(self, length: int) -> int:
        return length + self.negative

    def sample(self, key, length, bound, data=None) -> Example:
        lengths_key, digits_key = jax.random.split(key)
        lengths = self.draw_lengths(lengths_key, length, 2)

        def draw(key, length):
            return self.draw_number(key, length, bound)

        operand_keys = jax.random.split(digits_key, 2)
        operands = jax.vmap(draw)(operand_keys, lengths)

        columns = operands[0] - operands[1]
        # The most significant unequal digit decides which operand is larger.
        unequal = jnp.where(columns != 0, jnp.arange(bound), 0)
        is_negative = columns[unequal.max()] < 0
        if not self.negative:
            operands = jnp.where(is_negative, operands[::-1], operands)
            lengths = jnp.where(is_negative, lengths[::-1], lengths)
        columns = jnp.where(is_negative, -columns, columns)
        digits, _ = carried(columns, self.base)

        if self.padding == "longest":
            width = lengths.max()
            widths = jnp.broadcast_to(width, 2)
        else:
            width = num_digits(digits)
            widths = lengths
        prompt = number_text(operands, widths, self.reverse_operands)
        prompt = separated(prompt, self.base)
        target = number_text(
            digits[None],
            width[None],
            self.reverse_answer,
            row=jnp.array([3]),
            scored=True,
        )
        if self.negative:
            minus = sign_text(self.base, is_negative[None, None], row=3, scored=True)
            parts = (target, minus) if self.reverse_answer else (minus, target)
            target = concatenated(*parts)
        return text_example(
            left_aligned(prompt, self.prompt_bound(bound)),
            left_aligned(target, self.target_bound(bound)),
        )

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """Return what the structure reveals; the sign is the token of an encoder without number."""
        if self.padding != "none":
            return None
        if self.negative and not causal and structure in ("coupled", "grid", "symbols"):
            return "answer"
        return self.reveals_unpadded(structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        operands = self.operands_of(prompt, "-")
        return max(map(self.num_written_digits, operands))
