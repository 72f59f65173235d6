"""Subtract a long number from another.

    6 5 3 - 0 4 9 -> 4 0 6
    0 4 9 - 6 5 3 -> 4 0 6 -  # negative=True
    5 0 1 - 7 -> 8 9  # padding="none", reverse_operands=True
    7 - 5 0 1 -> 8 9 -  # padding="none", reverse_operands=True, negative=True
    1 2 - 3 0 -> - 1 8  # reverse_answer=False, negative=True

In training, length n is an upper bound on the digits of an operand; `lengths` says how they are
drawn. In evaluation the longest operand has exactly n digits, or both have
(`evaluate.exact_operands`).

Structure: "coupled" is the significance of a digit, so that digits of which one is taken from the
other share a number; "symbols" are the digits; "grid" is (number, significance), the difference
being the third number. A sign is no digit.

No paper: none was checked for it. The code of McLeish et al. 2024
(https://arxiv.org/abs/2405.17399) can make it, as `padding="none", reverse_operands=True,
negative=True, zero=False`; the defaults are what Cho et al. 2024 (https://arxiv.org/abs/2405.20671)
do in addition.

Differs: the separator of the layout stands for "=".
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._arithmetic import (
    Arithmetic,
    apart,
    carried,
    example,
    joined,
    laid_out,
    num_digits,
    numbers,
    signs,
)
from pe_lab.tasks.base import Example, Vocabulary


@dataclass(frozen=True)
class Subtraction(Arithmetic):
    """The target is the first operand less the second.

    Args:
      padding: "longest": zeros in front of operands and difference, up to the digits of the longer
        operand; or "none".
      negative: the difference may be below 0, with "-" beside its most significant digit; else the
        two operands are put in order, the larger one first.
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
        of_lengths, of_digits = jax.random.split(key)
        lengths = self.draw_lengths(of_lengths, length, 2)
        operands = jax.vmap(lambda key, n: self.draw_number(key, n, bound))(
            jax.random.split(of_digits, 2), lengths
        )
        columns = operands[0] - operands[1]
        decides = jnp.where(
            columns != 0, jnp.arange(bound), 0
        ).max()  # the most significant place where they differ
        below = columns[decides] < 0
        swap = below & (not self.negative)
        operands, lengths = (jnp.where(swap, pair[::-1], pair) for pair in (operands, lengths))
        digits, _ = carried(jnp.where(below, -columns, columns), self.base)
        padded = self.padding == "longest"
        widths = jnp.broadcast_to(lengths.max(), 2) if padded else lengths
        prompt = apart(numbers(operands, widths, self.reverse_operands), self.base)
        width = lengths.max() if padded else num_digits(digits)
        target = numbers(digits[None], width[None], self.reverse_answer, row=3, scored=True)
        if self.negative:
            minus = signs(self.base, below[None, None], row=3, scored=True)
            target = joined(target, minus) if self.reverse_answer else joined(minus, target)
        return example(
            laid_out(prompt, self.prompt_bound(bound)), laid_out(target, self.target_bound(bound))
        )

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """A sign has no number, which tells it apart from a digit at the blanks of an encoder."""
        if self.padding != "none":
            return None
        if self.negative and not causal and structure in ("coupled", "grid", "symbols"):
            return "answer"
        return self.reveals_unpadded(structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return max(map(self.num_written_digits, self._operands(prompt)))

    def _operands(self, prompt: np.ndarray) -> list[str]:
        return self.vocabulary.text(prompt.tolist()).replace(" ", "").split("-")

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        first, second = self._operands(prompt)
        difference = self.read(first) - self.read(second)
        digits = self.write(
            abs(difference), max(len(first), len(second)) if self.padding == "longest" else 1
        )
        minus = "-" * (difference < 0)
        return np.array(
            self.vocabulary.symbols(
                " ".join(digits + minus if self.reverse_answer else minus + digits)
            )
        )
