"""Multiply long numbers.

    6 5 3 * 7 -> 1 7 5 4
    6 5 3 * 0 4 -> 2 1 6 2 0  # other_digits=2
    7 5 * 2 1 -> 4 8 6  # other_digits=None, padding="none", reverse_operands=True
    3 4 * 1 2 -> 8 6 0 + 4 3 0 = 8 6 0 0 > 8 0 4 0  # other_digits=None, scratchpad=True

In training, length n is an upper bound on the digits of the first operand, and of the second where
`other_digits` is None; `lengths` says how they are drawn. In evaluation the longest of these
operands has exactly n digits, or all have (`evaluate.exact_operands`).

Structure: "coupled" is the significance of a digit, in a partial product that which it has in the
product; "symbols" are the digits; "grid" is (number, significance), with the operands in rows 1 and
2, and behind them partial product and running sum number k in row 2 + k, the product without
scratchpad in row 3.

Papers: Cho et al. 2024 (https://arxiv.org/abs/2405.20671): "N×2 multiplication", `other_digits=2`,
1..40 digits in training, 100 in tests; by one digit, the default, in their code. Cho et al. 2025
(https://arxiv.org/abs/2410.15787): "multiplication", `other_digits=None, scratchpad=True`, 1..10
digits in training, up to 20 in tests of their scripts. McLeish et al. 2024
(https://arxiv.org/abs/2405.17399): "multiplication", `other_digits=None, padding="none",
reverse_operands=True, zero=False`, 1..15 digits in training, 25 in tests.

Differs: the separator of the layout stands for "=" behind the operands. The code of Cho et al. 2024
numbers digits from the most significant on, "*" and "=" coming last; here it is the other way
round. In that of 2025 a token has three positions, one of them its place in its own partial
product; here "grid" has the two others, and operands have rows too.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks._arithmetic import (
    Arithmetic,
    Text,
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
class Multiplication(Arithmetic):
    """The target is the product of the prompt's operands.

    Args:
      other_digits: of the second operand, which may then begin with zeros; None: it is drawn like
        the first.
      padding: "answer": zeros in front of the product, up to as many digits as both operands have;
        or "none".
      scratchpad: the target is the first operand times each digit of the second, the least
        significant one first, with "+" between; "="; and their running sums, with ">" between, the
        last of which is scored. All have at least the first operand's digits, with padding partial
        products have one more, running sums those of both operands.
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
        names = (*self.digit_names, "*", *["+", "=", ">"] * self.scratchpad)
        return Vocabulary(len(names), names)

    @property
    def has_scratchpad(self) -> bool:
        return self.scratchpad

    def _others(self, length: int) -> int:
        """The most digits that the second operand has."""
        return length if self.other_digits is None else self.other_digits

    def prompt_bound(self, length: int) -> int:
        return length + 1 + self._others(length)

    def target_bound(self, length: int) -> int:
        others = self._others(length)
        product = length + others
        return others * (length + 1 + product) + 2 * others - 1 if self.scratchpad else product

    def sample(self, key, length, bound, data=None) -> Example:
        of_lengths, of_first, of_second = jax.random.split(key, 3)
        others = self._others(bound)
        if self.other_digits is None:
            lengths = self.draw_lengths(of_lengths, length, 2)
            second = self.draw_number(of_second, lengths[1], others)
        else:
            lengths = jnp.append(self.draw_lengths(of_lengths, length, 1), others)
            second = jax.random.randint(of_second, (others,), 0, self.base)
        first = self.draw_number(of_first, lengths[0], bound)
        operands = jnp.stack([jnp.pad(first, (0, others)), jnp.pad(second, (0, bound))])
        prompt = apart(numbers(operands, lengths, self.reverse_operands), self.base)
        target = self._target(second[:, None] * first[None], lengths)
        return example(
            laid_out(prompt, self.prompt_bound(bound)), laid_out(target, self.target_bound(bound))
        )

    def _target(self, products: Int[Array, "m n"], lengths: Int[Array, "2"]) -> Text:
        """Of products of each digit of the second operand with each of the first."""
        columns = _shifted(products)
        if not self.scratchpad:
            digits, _ = carried(columns.sum(axis=0), self.base)
            width = num_digits(digits) if self.padding == "none" else lengths.sum()
            return numbers(digits[None], width[None], self.reverse_answer, row=3, scored=True)
        number = jnp.arange(len(products))
        partial, _ = carried(jnp.pad(products, ((0, 0), (0, 1))), self.base)
        sums, _ = carried(jnp.cumsum(columns, axis=0), self.base)

        def said(digits, width, sign, **of_number):
            width = jnp.maximum(num_digits(digits), lengths[0]) if self.padding == "none" else width
            widths = jnp.where(number < lengths[1], width, 0)
            return apart(
                numbers(digits, widths, self.reverse_answer, row=3 + number, **of_number),
                self._id(sign),
            )

        partial = said(partial, lengths[0] + 1, "+", shift=number)
        sums = said(sums, lengths.sum(), ">", scored=number == lengths[1] - 1)
        return joined(
            *(
                Text(*(field.ravel() for field in text))
                for text in (partial, signs(self._id("="), jnp.ones(1, bool)), sums)
            )
        )

    def _id(self, name: str) -> int:
        return self.vocabulary.names.index(name)

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        return self.reveals_unpadded(structure) if self.padding == "none" else None

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        operands = self._operands(prompt)
        counted = operands if self.other_digits is None else operands[:1]
        return max(map(self.num_written_digits, counted))

    def _operands(self, prompt: np.ndarray) -> list[str]:
        return self.vocabulary.text(prompt.tolist()).replace(" ", "").split("*")

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        first, second = self._operands(prompt)
        a, b = self.read(first), self.read(second)
        if self.scratchpad:
            digits = [
                self.read(digit) for digit in (second if self.reverse_operands else second[::-1])
            ]
            least, extra, both = (
                len(first),
                *((0, 0) if self.padding == "none" else (1, len(second))),
            )
            partial = [self.write(a * digit, least + extra) for digit in digits]
            sums = [
                self.write(a * (b % self.base**k), least + both) for k in range(1, len(digits) + 1)
            ]
            said = "+".join(partial) + "=" + ">".join(sums)
        else:
            said = self.write(a * b, 1 if self.padding == "none" else len(first) + len(second))
        return np.array(self.vocabulary.symbols(" ".join(said)))


def _shifted(rows: Int[Array, "m n"]) -> Int[Array, "m m+n"]:
    """Row number j moved by j places, as products are written below each other."""
    m, n = rows.shape
    return jnp.pad(rows, ((0, 0), (0, m + 1))).ravel()[: m * (m + n)].reshape(m, m + n)
