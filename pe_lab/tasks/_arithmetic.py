"""Shared parts of the tasks on long numbers: drawing, carrying, writing and reading operands.

Shape letters: R numbers of a text, W digits of a number, the least significant first.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Shaped

from pe_lab.tasks.base import Example, Ints, RandomKey, Scalar, Task, make_example, numerals


@dataclass(frozen=True)
class Arithmetic(Task):
    """A task on random numbers: the first digit is not 0, the other digits are uniform.

    Args:
      base: the base of the numbers, 2 to 10.
      lengths: the distribution of the operands' digit counts at length n, in training.
        "independent": uniform on 1..n; "equal": n; "one_longest": independent, but one random
        operand has n digits; "mixed": independent in half of the examples, and one count for all
        operands, uniform on 1..n, in the other half.
      zero: an operand of one digit may be 0.
      reverse_operands: operands start with the least significant digit.
      reverse_answer: the numbers of the target start with the least significant digit.
    """

    base: int = 10
    lengths: Literal["independent", "equal", "one_longest", "mixed"] = "independent"
    zero: bool = True
    reverse_operands: bool = False
    reverse_answer: bool = True

    length_name = "digits"

    def __post_init__(self):
        if not 2 <= self.base <= 10:
            raise ValueError(
                f"{type(self).__name__} writes numbers in base 2 to 10, got base={self.base}."
            )

    @property
    def digit_names(self) -> tuple[str, ...]:
        return numerals(self.base)

    def symbol_id(self, name: str) -> int:
        return self.vocabulary.names.index(name)

    def exact_arguments(self, operands: Literal["longest", "all"]) -> dict[str, str]:
        if operands == "all":
            return {"lengths": "equal"}
        return {} if self.lengths == "equal" else {"lengths": "one_longest"}

    def reveals_unpadded(self, structure: str) -> Literal["length"] | None:
        """Return what the structure of a number without leading zeros reveals.

        If the most significant digit comes first, its significance is the number of digits.
        """
        if not self.reverse_answer and structure in ("coupled", "grid"):
            return "length"
        return None

    def num_written_digits(self, text: str) -> int:
        """Return the number of digits of an operand without leading zeros; 0 has one digit."""
        significant = text.rstrip("0") if self.reverse_operands else text.lstrip("0")
        return max(len(significant), 1)

    def draw_lengths(
        self,
        key: RandomKey,
        length: Scalar,
        count: int,
        present: Scalar | int | None = None,
    ) -> Int[Array, "r"]:
        """Draw the digit count of each of `count` operands.

        Args:
          present: the number of operands in the prompt, the first ones; None for all of them.
        """
        if present is None:
            present = count
        if self.lengths == "equal":
            return jnp.full(count, length)
        independent = jax.random.randint(key, (count,), 1, length + 1)
        # Not a split of the key, so that "independent" draws do not change.
        second_key = jax.random.fold_in(key, 1)
        if self.lengths == "one_longest":
            longest = jax.random.randint(second_key, (), 0, present)
            is_longest = jnp.arange(count) == longest
            return jnp.where(is_longest, length, independent)
        if self.lengths == "mixed":
            is_independent = jax.random.bernoulli(second_key)
            return jnp.where(is_independent, independent, independent[0])
        return independent

    def draw_number(self, key: RandomKey, length: Scalar, bound: int) -> Ints:
        """Draw a number of `length` digits; [bound], 0 above the number."""
        index = jnp.arange(bound)
        may_be_zero = (length == 1) & self.zero
        is_first = index == length - 1
        least = (is_first & ~may_be_zero).astype(int)
        digits = jax.random.randint(key, (bound,), least, self.base)
        return jnp.where(index < length, digits, 0)

    def operands_of(self, prompt: np.ndarray, sign: str) -> list[str]:
        """Return the operands of a prompt, which a sign separates, as they are written."""
        names = self.vocabulary.names
        return "".join(names[symbol] for symbol in prompt).split(sign)


def carried(
    columns: Int[Array, "*r w"], base: int
) -> tuple[Int[Array, "*r w"], Int[Array, "*r w"]]:
    """Turn sums of columns (of any sign) into digits and the carry into each digit."""

    def step(carry, column):
        total = column + carry
        digit = total % base
        return total // base, (digit, carry)

    no_carry = jnp.zeros_like(columns[..., 0])
    first_axis = jnp.moveaxis(columns, -1, 0)  # the axis of a scan
    _, (digits, carries) = jax.lax.scan(step, no_carry, first_axis)
    return jnp.moveaxis(digits, 0, -1), jnp.moveaxis(carries, 0, -1)


def num_digits(digits: Int[Array, "*r w"]) -> Int[Array, "*r"]:
    """Return the number of digits without leading zeros; 0 has one digit."""
    significance = jnp.arange(1, digits.shape[-1] + 1)
    return jnp.where(digits > 0, significance, 1).max(axis=-1)


def digits_of_sum(base: int, count: int, digits: int) -> int:
    """Return the number of digits of the largest sum of `count` numbers of `digits` digits."""
    largest_sum = count * (base**digits - 1)
    width = digits
    while largest_sum >= base**width:
        width += 1
    return width


def digits_of_sums(base: int, most: int, bound: int) -> Int[Array, "k n"]:
    """Return `digits_of_sum` as a table for up to `most` numbers of up to `bound` digits."""
    table = np.zeros((most + 1, bound + 1), int)
    for count in range(most + 1):
        for digits in range(bound + 1):
            table[count, digits] = digits_of_sum(base, count, digits)
    return jnp.array(table)


class Text(NamedTuple):
    """Tokens in reading order; tokens that are not present are removed by `left_aligned`.

    Attributes:
      symbol: the symbol of each token.
      present: False at tokens that the text does not have.
      significance: of a digit, from 1; 0 for other tokens.
      row: the number of the number that the token belongs to, from 1; 0 between numbers.
      scored: True at tokens of the answer.
    """

    symbol: Int[Array, "*n"]
    present: Bool[Array, "*n"]
    significance: Int[Array, "*n"]
    row: Int[Array, "*n"]
    scored: Bool[Array, "*n"]


def map_fields(function, text: Text) -> Text:
    """Apply a function to every field of a text."""
    return Text(*map(function, text))


def number_text(
    digits: Int[Array, "r w"],
    widths: Int[Array, "r"],
    reverse: bool,
    row: Int[Array, "r"] | int | None = None,
    shift: Int[Array, "r"] | int = 0,
    scored: Bool[Array, "r"] | bool = False,
) -> Text:
    """Write numbers, [R, W], with leading zeros up to their widths; width 0 omits a number.

    Args:
      reverse: the least significant digit comes first.
      row: the row of each number; None for 1, 2, ….
      shift: added to the significance of each number's digits.
      scored: True for numbers of the answer.
    """

    if row is None:
        row = jnp.arange(1, len(digits) + 1)

    def expand(value_of_number):
        column = jnp.reshape(value_of_number, (-1, 1))
        return jnp.broadcast_to(column, digits.shape)

    index = jnp.arange(digits.shape[1])[None]
    text = Text(
        symbol=digits,
        present=index < widths[:, None],
        significance=expand(shift) + index + 1,
        row=expand(row),
        scored=expand(scored),
    )
    if reverse:
        return text
    return map_fields(lambda field: field[:, ::-1], text)


def sign_text(
    symbol: Shaped[Array, "*n"] | int,
    present: Bool[Array, "*n"],
    row: int = 0,
    scored: bool = False,
) -> Text:
    """Write tokens that are not digits, in the shape of `present`."""
    fields = [symbol, present, 0, row, scored]
    return Text(*(jnp.broadcast_to(jnp.asarray(field), present.shape) for field in fields))


def separated(text: Text, symbol: int) -> Text:
    """Put a symbol before every present number except the first: [R, ...] -> [R, n]."""
    text = map_fields(lambda field: field.reshape(len(field), -1), text)
    has_number = text.present.any(axis=1, keepdims=True)
    is_first = jnp.arange(len(has_number)) == 0
    signs = sign_text(symbol, has_number & ~is_first[:, None])
    return concatenated(signs, text)


def concatenated(*texts: Text) -> Text:
    """Concatenate texts along the last axis."""
    return jax.tree.map(lambda *fields: jnp.concatenate(fields, axis=-1), *texts)


def stacked(*texts: Text) -> Text:
    """Interleave texts along a new last axis."""
    return jax.tree.map(lambda *fields: jnp.stack(fields, axis=-1), *texts)


def left_aligned(text: Text, size: int) -> Text:
    """Flatten a text to [size]: the present tokens first, then zeros."""
    present = text.present.ravel()
    # Absent tokens go out of bounds, where mode="drop" ignores them.
    destination = jnp.where(present, jnp.cumsum(present) - 1, size)
    indices = jnp.arange(present.size)
    source = jnp.zeros(size, int).at[destination].set(indices, mode="drop")
    mask = jnp.arange(size) < present.sum()

    def align(field):
        return jnp.where(mask, field.ravel()[source], jnp.zeros((), field.dtype))

    return map_fields(align, text)


def text_example(prompt: Text, target: Text) -> Example:
    """Return the example of two left-aligned texts."""
    prompt_labels = _structure(prompt)
    target_labels = _structure(target)
    return make_example(
        prompt.symbol,
        prompt.present,
        target.symbol,
        target.present,
        answer_mask=target.scored,
        alignment=jnp.full_like(target.symbol, -1),
        structure={name: (prompt_labels[name], target_labels[name]) for name in prompt_labels},
    )


def _structure(text: Text) -> dict[str, Array]:
    is_digit = text.significance > 0
    row = jnp.where(is_digit, text.row, 0)  # signs and hints are outside of the grid
    return {
        "coupled": text.significance,
        "symbols": is_digit,
        "grid": jnp.stack([row, text.significance], axis=-1),
    }
