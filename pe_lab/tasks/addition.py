"""Add long numbers.

    6 5 3 + 0 4 9 -> 2 0 7 0
    7 5 + 2 -> 9 5  # padding="none", reverse_operands=True, zero=False
    0 7 + 0 8 + 0 6 -> 0 0 > 7 0 > 5 1 > 1 2  # padding="answer", operands=3, scratchpad=True
    h3 0 h2 6 h1 5 + h3 0 h2 0 h1 7 -> h1 2 h2 7 h3 0  # padding="answer", hints=8
    6 5 3 + 0 4 9 -> 0 1 1 0  # answer="carries"
    3 7 5 8 -> 0 4 1  # interleaved=True, reverse_operands=True
    7 _ 5 _ _ + 2 -> 9 5  # padding="none", reverse_operands=True, blanks=0.1
    1 0 + 1 1 -> 1 0 1  # base=2, padding="none", reverse_answer=False, total_length=True

In training, length n is an upper bound on the digits of an operand, and `lengths` is their
distribution. In evaluation the longest operand has exactly n digits, or all operands have n digits
(`evaluate.exact_operands`). If the sum starts with its least significant digit, each of its digits
follows from two digits of the prompt and the previous digits of the sum.

Structure: "coupled" is the significance of a digit, so that digits that are added share a number;
"symbols" are the digits; "grid" is (number, significance), with the sum of the first k operands in
row k + 1.

Papers: Cho et al. 2024 (https://arxiv.org/abs/2405.20671): "addition", the defaults, 1..30 digits
in training, 100 and more in tests, where both operands have the tested length; of three operands,
`operands=3, padding="answer"`; "index hinting", `padding="answer"` with hints; carries are in their
code. Cho et al. 2025 (https://arxiv.org/abs/2410.15787): "multi-operand addition", `min_operands=2,
operands=10, padding="answer", scratchpad=True, lengths="mixed"`, 1..10 digits in training, up to 20
digits and operands in tests of their scripts. McLeish et al. 2024
(https://arxiv.org/abs/2405.17399): "addition", `padding="none", reverse_operands=True, zero=False`,
1..20 digits in training, 100 and more in tests; also with `hints=102`, blanks or interleaved
digits. Huang et al. 2025 (https://arxiv.org/abs/2410.02140): "addition", `base=2, padding="none",
reverse_answer=False, total_length=True`, lengths up to 50 in training and 150 in tests. Kazemnejad
et al. 2023 (https://arxiv.org/abs/2305.19466): "addition", `padding="none", reverse_answer=False`
with words around it, up to 8 digits in training and 16 in tests.

Differs: the separator of the layout replaces "=", and the end token replaces the papers' end. The
code of Cho et al. 2024 numbers digits from the most significant one on, then "+" and "="; here the
least significant digit has number 1, as in their code of 2025. There "+" has the row of the next
operand; here it has none. Hints start at a random symbol and wrap around, in evaluation too, as in
McLeish et al.; hints of Cho et al. do not wrap around and start with the first one in evaluation.
Blanks occur in the prompt only, since a model cannot predict random blanks, and never three in a
row (fewer than one token in a thousand of McLeish et al. has three). The interleaved operands of
McLeish et al. may be unpadded, which makes the prompt ambiguous; here they are padded.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks._arithmetic import (
    CARRIES,
    Arithmetic,
    carried,
    carries_of_kind,
    digits_of_sum,
    digits_of_sums,
    num_digits,
)
from pe_lab.tasks._number_text import (
    Text,
    left_aligned,
    map_fields,
    number_text,
    separated,
    text_example,
    with_blanks,
    with_hints,
)
from pe_lab.tasks.base import Example, RandomKey, Scalar, Vocabulary


@dataclass(frozen=True)
class Addition(Arithmetic):
    """The target is the sum of the prompt's operands.

    Args:
      operands: the largest number of operands.
      min_operands: the smallest number of operands; the number is uniform. None for `operands`.
      padding: leading zeros. "none"; "longest": operands have the digits of the longest operand,
        and the sum has the digits of the largest sum of that many such operands; "answer": operands
        have the digits of that sum as well.
      answer: the "sum"; or, for two operands, the carry into each digit ("carries"), the carries
        from two digits alone ("direct_carries"), or those that need a carry from the digit below
        ("virtual_carries").
      scratchpad: the target is the sum of the first 0, 1, 2, … operands, separated by ">"; the
        last sum is scored.
      hints: the number of hint symbols. Each digit follows a hint that shows its significance; the
        hint of the least significant digit is random, and the next ones follow cyclically. 0 for no
        hints.
      blanks: the probability of a blank before a token of the prompt; a second blank follows with a
        tenth of this probability.
      interleaved: the digits of the two operands alternate, without "+".
      other_digits: the digits of every operand but the first, so that the length counts the digits
        of the first one alone; None to draw all of them like the first.
      total_length: the length counts all tokens of the prompt and the separator. The two operands
        then have n - 2 digits, the first one uniformly 1..n - 3 of them.
    """

    operands: int = 2
    min_operands: int | None = None
    padding: Literal["none", "longest", "answer"] = "longest"
    answer: Literal["sum", "carries", "direct_carries", "virtual_carries"] = "sum"
    scratchpad: bool = False
    hints: int = 0
    blanks: float = 0.0
    interleaved: bool = False
    total_length: bool = False
    other_digits: int | None = None

    later_arguments = ("other_digits",)
    attributes = CARRIES

    def __post_init__(self):
        super().__post_init__()
        if not 1 <= self._fewest <= self.operands:
            given = f"{self._fewest} and {self.operands}"
            raise ValueError(f"Addition needs 1 <= min_operands <= operands, got {given}.")
        if not 0 <= self.blanks < 1:
            raise ValueError(f"Addition's blanks is a probability below 1, got {self.blanks}.")
        self._check_two_operands()
        if self.scratchpad and self.answer != "sum":
            raise ValueError(f"Addition's scratchpad shows sums, not answer={self.answer!r}.")
        if self.interleaved and self.padding == "none":
            raise ValueError("Addition's interleaved operands need padding to mark their ends.")
        is_free = (self.padding, self.lengths, self.other_digits) == ("none", "independent", None)
        if self.total_length and not is_free:
            raise ValueError(
                f"Addition's total_length needs lengths='independent', padding='none' and no "
                f"other_digits, got {self.lengths!r}, {self.padding!r} and {self.other_digits}."
            )
        if self.total_length and (self.hints or self.blanks):
            added = f"{self.hints} and {self.blanks}"
            raise ValueError(f"Addition's total_length takes no hints and no blanks, got {added}.")
        if self.other_digits is not None and self.other_digits < 1:
            raise ValueError(f"Addition's other_digits is 1 or more, got {self.other_digits}.")
        _, shortest_sum = self._most_digits(self.min_length)
        if self.hints < 0 or 0 < self.hints < shortest_sum:
            needed = "a hint for each digit of the shortest sums or no hints"
            raise ValueError(f"Addition needs {needed}, got {self.hints}.")

    def _check_two_operands(self) -> None:
        if self._fewest == self.operands == 2:
            return
        for name, default in (("interleaved", False), ("total_length", False), ("answer", "sum")):
            value = getattr(self, name)
            if value != default:
                raise ValueError(
                    f"Addition of {self._fewest} to {self.operands} operands cannot have "
                    f"{name}={value!r}, which needs two operands."
                )

    @property
    def _fewest(self) -> int:
        return self.operands if self.min_operands is None else self.min_operands

    @property
    def vocabulary(self) -> Vocabulary:
        names = [*self.digit_names, "+"]
        if self.scratchpad:
            names.append(">")
        if self.blanks > 0:
            names.append("_")
        names += [f"h{i}" for i in range(self.hints)]
        return Vocabulary.of(*names)

    @property
    def min_length(self) -> int:
        return 4 if self.total_length else 1

    @property
    def max_length(self) -> int | None:
        if not self.hints:
            return None
        length = self.hints + self.min_length
        while self._most_digits(length)[1] > self.hints:
            length -= 1
        return length

    @property
    def has_scratchpad(self) -> bool:
        return self.scratchpad

    def exact_arguments(self, operands: Literal["longest", "all"]) -> dict[str, str]:
        return {} if self.total_length else super().exact_arguments(operands)

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        if self.padding != "none" or self.answer != "sum":
            return None
        return self.reveals_unpadded(structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        if self.total_length:
            return len(prompt) + 1
        operands = self.operands_of(prompt, "+")
        if self.other_digits is not None:
            operands = operands[:1]
        return max(map(self.num_written_digits, operands))

    def operands_of(self, prompt: np.ndarray, sign: str) -> list[str]:
        """Return the operands as they are written, without hints and blanks."""
        is_digit_or_sign = prompt <= self.symbol_id("+")
        operands = super().operands_of(prompt[is_digit_or_sign], sign)
        if self.interleaved:
            operands = [operands[0][::2], operands[0][1::2]]
        return operands

    def _most_digits(self, length: int) -> tuple[int, int]:
        """Return the largest digit counts of an operand without padding, and of the sum."""
        digits = length - 3 if self.total_length else max(length, self.other_digits or 0)
        return digits, digits_of_sum(self.base, self.operands, digits)

    def _prompt_bound_without_blanks(self, length: int) -> int:
        digits, sum_digits = self._most_digits(length)
        if self.total_length:
            num_digits = length - 2
        elif self.padding == "answer":
            num_digits = self.operands * sum_digits
        else:
            num_digits = self.operands * digits
        num_signs = 0 if self.interleaved else self.operands - 1
        return num_digits * (2 if self.hints else 1) + num_signs

    def prompt_bound(self, length: int) -> int:
        return self._prompt_bound_without_blanks(length) * (3 if self.blanks else 1)

    def target_bound(self, length: int) -> int:
        num_sums = self.operands + 1 if self.scratchpad else 1
        _, sum_digits = self._most_digits(length)
        num_digits = num_sums * sum_digits
        return num_digits * (2 if self.hints else 1) + num_sums - 1

    def sample(self, key, length, bound, data=None) -> Example:
        count_key, lengths_key, digits_key, hint_key, blanks_key = jax.random.split(key, 5)
        operand_bound, sum_bound = self._most_digits(bound)
        lengths = self._draw_operand_lengths(count_key, lengths_key, length)
        count = (lengths > 0).sum()
        longest = lengths.max()
        sum_digits = digits_of_sums(self.base, self.operands, operand_bound)[count, longest]
        draw = jax.vmap(lambda key, length: self.draw_number(key, length, sum_bound))
        operands = draw(jax.random.split(digits_key, self.operands), lengths)
        hint = jax.random.randint(hint_key, (), 0, max(self.hints, 1))

        widths = {"none": lengths, "longest": longest, "answer": sum_digits}[self.padding]
        # Absent operands have no digits, not even leading zeros.
        widths = jnp.where(lengths > 0, widths, 0)
        prompt = number_text(operands, widths, self.reverse_operands)
        first_hint = self.vocabulary.num_symbols - self.hints
        prompt = with_hints(prompt, first_hint, self.hints, hint)
        if self.interleaved:
            # From number by number to digit by digit.
            prompt = map_fields(lambda field: field.swapaxes(0, 1), prompt)
        else:
            prompt = separated(prompt, self.symbol_id("+"))
        prompt = left_aligned(prompt, self._prompt_bound_without_blanks(bound))

        target = self._sums(operands, count, sum_digits)
        target = with_hints(target, first_hint, self.hints, hint)
        if self.scratchpad:
            target = separated(target, self.symbol_id(">"))
        target = left_aligned(target, self.target_bound(bound))
        if self.blanks:
            prompt = with_blanks(blanks_key, prompt, self.symbol_id("_"), self.blanks)
        return text_example(prompt, target)

    def _draw_operand_lengths(
        self, count_key: RandomKey, lengths_key: RandomKey, length: Scalar
    ) -> Int[Array, "r"]:
        """Draw the digit count of each operand; 0 for absent operands."""
        if self.total_length:
            first = jax.random.randint(lengths_key, (), 1, length - 2)  # 1..n - 3
            return jnp.stack([first, length - 2 - first])
        count = jax.random.randint(count_key, (), self._fewest, self.operands + 1)
        if self.other_digits is None:
            lengths = self.draw_lengths(lengths_key, length, self.operands, present=count)
        else:
            first = self.draw_lengths(lengths_key, length, 1)
            others = jnp.full(self.operands - 1, self.other_digits)
            lengths = jnp.concatenate([first, others])
        return jnp.where(jnp.arange(self.operands) < count, lengths, 0)

    def _sums(self, operands: Int[Array, "r w"], count: Scalar, sum_digits: Scalar) -> Text:
        """Write the numbers of the target; number k is the sum of the first k operands."""
        columns = jnp.cumsum(operands, axis=0)  # with carries to come
        if self.scratchpad:
            columns = jnp.pad(columns, ((1, 0), (0, 0)))  # the sum of no operands
            k = jnp.arange(len(columns))
        else:
            columns = columns[-1:]
            k = count[None]
        digits, carries = carried(columns, self.base)
        widths = num_digits(digits)
        if self.padding != "none" or self.answer != "sum":
            widths = jnp.full_like(widths, sum_digits)
        if self.answer != "sum":
            digits = carries_of_kind(self.answer, columns, carries, self.base)
        widths = jnp.where(k <= count, widths, 0)
        return number_text(digits, widths, self.reverse_answer, row=k + 1, scored=k == count)
