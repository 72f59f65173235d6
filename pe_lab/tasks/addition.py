"""Add long numbers.

    6 5 3 + 0 4 9 -> 2 0 7 0
    7 5 + 2 -> 9 5  # padding="none", reverse_operands=True, zero=False
    0 5 7 + 0 4 8 + 0 9 6 -> 0 0 0 > 7 5 0 > 5 0 1 > 1 0 2
        # the line before: padding="answer", operands=3, scratchpad=True
    h3 0 h2 6 h1 5 + h3 0 h2 0 h1 7 -> h1 2 h2 7 h3 0  # padding="answer", hints=8
    6 5 3 + 0 4 9 -> 0 1 1 0  # answer="carries"
    3 7 5 8 -> 0 4 1  # interleaved=True, reverse_operands=True
    7 _ 5 _ _ + 2 -> 9 5  # padding="none", reverse_operands=True, blanks=0.1
    1 0 + 1 1 -> 1 0 1  # base=2, padding="none", reverse_answer=False, total_length=True

In training, length n is an upper bound on the digits of an operand; `lengths` says how they are
drawn. In evaluation the longest operand has exactly n digits, or all have
(`evaluate.exact_operands`). From the least significant digit on, each digit of the sum follows from
two digits of the prompt and what was just said.

Structure: "coupled" is the significance of a digit, so that digits that are added share a number;
"symbols" are the digits; "grid" is (number, significance), where the sum of the first k operands
stands in row k + 1.

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

Differs: the separator of the layout stands for "=", the end token for the papers'. The code of Cho
et al. 2024 numbers digits from the most significant on, "+" and "=" coming last; here it is the
other way round, as in their code of 2025, where a "+" has the row of the operand behind it, and
here none. Hints begin anywhere and go round, in evaluation too, as in McLeish et al.; those of Cho
et al. do not go round and begin with the first in evaluation. Blanks stand in the prompt alone,
since no one could know those of an answer, and never three in a row, which McLeish et al. have in
front of less than one token in a thousand. Their interleaved operands may be unpadded, which leaves
open what the prompt is.
"""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from pe_lab.tasks._arithmetic import (
    Arithmetic,
    Text,
    apart,
    carried,
    example,
    laid_out,
    num_digits,
    numbers,
    signs,
    stacked,
)
from pe_lab.tasks.base import Example, Vocabulary


@dataclass(frozen=True)
class Addition(Arithmetic):
    """The target is the sum of the prompt's operands.

    Args:
      operands: the most that a prompt has.
      min_operands: the fewest; how many there are is uniform. None: always `operands`.
      padding: zeros in front. "none"; "longest": operands up to the longest one, the sum up to what
        so many so long operands can need; "answer": operands up to there as well.
      answer: the "sum", or of two operands what is carried into each place: "carries", those that
        two digits make by themselves ("direct_carries"), or those that need a carry from the place
        below ("virtual_carries").
      scratchpad: the target is the sum of no operands, of one, of two, …, with ">" between them;
        the last is scored.
      hints: how many symbols there are for them; each digit stands behind one that says its
        significance, the least significant digit's being any of them, its successors those that
        follow, round and round. 0: no hints.
      blanks: the probability of a blank in front of a token of the prompt; then a tenth of it for a
        second one.
      interleaved: the two operands' digits alternate, without "+".
      total_length: the length counts all tokens of the prompt, the separator too: n - 2 digits of
        two operands, the first having uniform on 1..n - 3 of them.
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

    def __post_init__(self):
        super().__post_init__()
        count = (self._fewest, self.operands)
        if not 1 <= self._fewest <= self.operands:
            raise ValueError(
                f"Addition needs 1 <= min_operands <= operands, got {count[0]} and {count[1]}."
            )
        if not 0 <= self.blanks < 1:
            raise ValueError(f"Addition's blanks is a probability below 1, got {self.blanks}.")
        for name, default in (("interleaved", False), ("total_length", False), ("answer", "sum")):
            if (value := getattr(self, name)) != default and count != (2, 2):
                raise ValueError(
                    f"Addition of {count[0]} to {count[1]} operands cannot have {name}={value!r}, "
                    f"which is for two."
                )
        if self.scratchpad and self.answer != "sum":
            raise ValueError(f"Addition's scratchpad shows sums, not answer={self.answer!r}.")
        if self.interleaved and self.padding == "none":
            raise ValueError(
                "Addition's interleaved operands need padding: without it nothing says where the "
                "shorter one ends."
            )
        if self.total_length and (self.padding, self.lengths) != ("none", "independent"):
            raise ValueError(
                f"Addition's total_length fixes lengths and padding, got {self.lengths!r} and "
                f"{self.padding!r}."
            )
        if 0 < self.hints < self._sum_digits(self.operands, 1) or self.hints < 0:
            raise ValueError(
                f"Addition needs a hint for each digit of the shortest sums or no hints, got "
                f"{self.hints}."
            )

    @property
    def _fewest(self) -> int:
        return self.operands if self.min_operands is None else self.min_operands

    @property
    def vocabulary(self) -> Vocabulary:
        names = (
            *self.digit_names,
            "+",
            *[">"] * self.scratchpad,
            *["_"] * (self.blanks > 0),
            *(f"h{i}" for i in range(self.hints)),
        )
        return Vocabulary(len(names), names)

    @property
    def min_length(self) -> int:
        return 4 if self.total_length else 1

    @property
    def max_length(self) -> int | None:
        lengths = range(self.hints + self.min_length, 0, -1)
        return next(n for n in lengths if self._most(n)[1] <= self.hints) if self.hints else None

    @property
    def has_scratchpad(self) -> bool:
        return self.scratchpad

    def exact_arguments(self, operands: Literal["longest", "all"]) -> dict[str, Any]:
        return {} if self.total_length else super().exact_arguments(operands)

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        unpadded = self.padding == "none" and self.answer == "sum"
        return self.reveals_unpadded(structure) if unpadded else None

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        if self.total_length:
            return len(prompt) + 1
        return max(map(self.num_written_digits, self._operands(prompt)))

    def _operands(self, prompt: np.ndarray) -> list[str]:
        """Return the operands as they are written, without hints and blanks."""
        words = [self.vocabulary.names[symbol] for symbol in prompt]
        text = "".join(word for word in words if word[0] not in "h_")
        return [text[::2], text[1::2]] if self.interleaved else text.split("+")

    def _sum_digits(self, count: int, digits: int) -> int:
        """What a sum can need at most."""
        width = digits
        while count * (self.base**digits - 1) >= self.base**width:
            width += 1
        return width

    def _table(self, bound: int) -> Int[Array, "k n"]:
        """The same for every count and every length of the longest operand."""
        return jnp.array(
            [[self._sum_digits(k, n) for n in range(bound + 1)] for k in range(self.operands + 1)]
        )

    def _most(self, length: int) -> tuple[int, int]:
        """Digits of an operand without padding, and of the sum."""
        digits = length - 3 if self.total_length else length
        return digits, self._sum_digits(self.operands, digits)

    def _prompt_bound(self, length: int) -> int:
        """Without blanks."""
        digits, of_sum = self._most(length)
        in_all = (
            length - 2
            if self.total_length
            else self.operands * (of_sum if self.padding == "answer" else digits)
        )
        return in_all * (1 + (self.hints > 0)) + (self.operands - 1) * (not self.interleaved)

    def prompt_bound(self, length: int) -> int:
        return self._prompt_bound(length) * (3 if self.blanks else 1)

    def target_bound(self, length: int) -> int:
        sums = self.operands + 1 if self.scratchpad else 1
        return sums * self._most(length)[1] * (1 + (self.hints > 0)) + sums - 1

    def sample(self, key, length, bound, data=None) -> Example:
        of_count, of_lengths, of_digits, of_hint, of_blanks = jax.random.split(key, 5)
        lengths = self._draw_operands(of_count, of_lengths, length)
        count, longest = (lengths > 0).sum(), lengths.max()
        operand_bound, sum_bound = self._most(bound)
        sum_digits = self._table(operand_bound)[count, longest]
        draw = jax.vmap(lambda key, n: self.draw_number(key, n, sum_bound))
        operands = draw(jax.random.split(of_digits, self.operands), lengths)
        hint = jax.random.randint(of_hint, (), 0, self.hints) if self.hints else 0
        widths = {"none": lengths, "longest": longest, "answer": sum_digits}[self.padding]
        prompt = self._hinted(
            numbers(operands, jnp.where(lengths > 0, widths, 0), self.reverse_operands), hint
        )
        prompt = (
            Text(*(field.swapaxes(0, 1) for field in prompt))
            if self.interleaved
            else apart(prompt, self._id("+"))
        )
        prompt = laid_out(prompt, self._prompt_bound(bound))
        target = self._hinted(self._sums(operands, count, sum_digits), hint)
        target = apart(target, self._id(">")) if self.scratchpad else target
        return example(self._spaced(of_blanks, prompt), laid_out(target, self.target_bound(bound)))

    def _draw_operands(
        self, of_count: Key[Array, ""], of_lengths: Key[Array, ""], length: Int[Array, ""]
    ) -> Int[Array, "r"]:
        """The digits of each operand, 0 for one that is not there."""
        if self.total_length:
            first = jax.random.randint(of_lengths, (), 1, length - 2)
            return jnp.stack([first, length - 2 - first])
        count = (
            jax.random.randint(of_count, (), self._fewest, self.operands + 1)
            if self._fewest < self.operands
            else self.operands
        )
        lengths = self.draw_lengths(of_lengths, length, self.operands, present=count)
        return jnp.where(jnp.arange(self.operands) < count, lengths, 0)

    def _sums(
        self, operands: Int[Array, "r w"], count: Int[Array, ""], sum_digits: Int[Array, ""]
    ) -> Text:
        """What the target says, number k being that of the first k operands."""
        columns = jnp.cumsum(operands, axis=0)
        columns = jnp.pad(columns, ((1, 0), (0, 0))) if self.scratchpad else columns[-1:]
        k = jnp.arange(len(columns)) if self.scratchpad else count[None]
        digits, carries = carried(columns, self.base)
        if self.answer != "sum":
            direct = jnp.pad(columns[:, :-1] // self.base, ((0, 0), (1, 0)))
            digits = {
                "carries": carries,
                "direct_carries": direct,
                "virtual_carries": carries - direct,
            }[self.answer]
        widths = (
            num_digits(digits) if self.padding == "none" and self.answer == "sum" else sum_digits
        )
        return numbers(
            digits,
            jnp.where(k <= count, widths, 0),
            self.reverse_answer,
            row=k + 1,
            scored=k == count,
        )

    def _hinted(self, text: Text, hint: int | Int[Array, ""]) -> Text:
        if not self.hints:
            return text
        symbols = self._id("h0") + (hint + text.significance - 1) % self.hints
        return stacked(text._replace(symbol=symbols, significance=jnp.zeros_like(symbols)), text)

    def _spaced(self, key: Key[Array, ""], text: Text) -> Text:
        if not self.blanks:
            return text
        draws = jax.random.uniform(key, (len(text.there), 2))
        one = text.there & (draws[:, 0] < self.blanks)
        two = one & (draws[:, 1] < self.blanks / 10)
        spaced = stacked(signs(self._id("_"), two), signs(self._id("_"), one), text)
        return laid_out(spaced, spaced.there.size)

    def _id(self, name: str) -> int:
        return self.vocabulary.names.index(name)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        words = [self.vocabulary.names[symbol] for symbol in prompt]
        hints = [int(word[1:]) for word in words if word[0] == "h"]
        parts = self._operands(prompt)
        values = [self.read(part) for part in parts]
        longest = len(max(parts, key=len))
        width = (
            longest
            if self.padding == "answer"
            else len(self.write(len(parts) * (self.base**longest - 1)))
        )
        if self.answer == "sum":
            sums = [sum(values[:k]) for k in range(len(values) + 1)]
            said = [
                self.write(value, 1 if self.padding == "none" else width)
                for value in sums[0 if self.scratchpad else -1 :]
            ]
        else:
            into = [
                sum(value % self.base**place for value in values) // self.base**place
                for place in range(width)
            ]
            own = [
                sum(value * self.base // self.base**place % self.base for value in values)
                // self.base
                for place in range(width)
            ]
            of = {
                "carries": into,
                "direct_carries": own,
                "virtual_carries": [a - b for a, b in zip(into, own, strict=True)],
            }[self.answer]
            said = ["".join(map(str, of if self.reverse_answer else of[::-1]))]
        least = hints[0 if self.reverse_operands else -1] if hints else 0
        return np.array(
            self.vocabulary.symbols(" > ".join(self._said(text, least) for text in said))
        )

    def _said(self, text: str, least: int) -> str:
        """The digits of a number as a reader sees them; for the oracle."""
        places = range(len(text)) if self.reverse_answer else range(len(text) - 1, -1, -1)
        return " ".join(
            f"h{(least + place) % self.hints} {c}" if self.hints else c
            for place, c in zip(places, text, strict=True)
        )
