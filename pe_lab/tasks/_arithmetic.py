"""What tasks on long numbers share: how operands are drawn, carried, written and read.

Shape letters: R numbers of a text, W digits of a number, the least significant first.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from pe_lab.tasks.base import Example, Task


@dataclass(frozen=True)
class Arithmetic(Task):
    """A task whose prompt is numbers, each with a first digit that is not 0 and uniform digits
    behind it.

    Args:
      base: of the numbers, 2 to 10.
      lengths: the digits of each operand at length n, in training. "independent": uniform on 1..n;
        "equal": n; "one_longest": independent, but one of them, any, has n; "mixed": independent in
        half of the examples, in the others one length for all, uniform on 1..n.
      zero: an operand of one digit may be 0.
      reverse_operands: they are written from the least significant digit on.
      reverse_answer: so are all numbers of the target.
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
        return tuple(map(str, range(self.base)))

    def exact_arguments(self, operands: Literal["longest", "all"]) -> dict[str, Any]:
        if operands == "all":
            return {"lengths": "equal"}
        return {} if self.lengths == "equal" else {"lengths": "one_longest"}

    def reveals_unpadded(self, structure: str) -> Literal["length"] | None:
        """Return what the structure of a number without zeros in front reveals.

        The most significant digit comes first: its significance is the number of digits.
        """
        forward = not self.reverse_answer
        return "length" if forward and structure in ("coupled", "grid") else None

    def num_written_digits(self, text: str) -> int:
        """Return the digits of a written operand without zeros in front; 0 has one digit."""
        significant = text.rstrip("0") if self.reverse_operands else text.lstrip("0")
        return max(len(significant), 1)

    def draw_lengths(
        self,
        key: Key[Array, ""],
        length: Int[Array, ""],
        count: int,
        present: Int[Array, ""] | int | None = None,
    ) -> Int[Array, "r"]:
        """Draw the digits of each of `count` operands.

        Args:
          present: the operands that the prompt has, the first of the `count`; None: all of them.
        """
        if self.lengths == "equal":
            return jnp.full(count, length)
        own = jax.random.randint(key, (count,), 1, length + 1)
        of_one = jax.random.fold_in(key, 1)
        if self.lengths == "one_longest":
            longest = jax.random.randint(of_one, (), 0, count if present is None else present)
            return jnp.where(jnp.arange(count) == longest, length, own)
        if self.lengths == "mixed":
            return jnp.where(jax.random.bernoulli(of_one), own, own[0])
        return own

    def draw_number(
        self, key: Key[Array, ""], length: Int[Array, ""], bound: int
    ) -> Int[Array, "w"]:
        """A number of `length` digits."""
        place = jnp.arange(bound)
        first = (place == length - 1) & ((length > 1) | (not self.zero))
        digits = jax.random.randint(key, (bound,), first.astype(int), self.base)
        return jnp.where(place < length, digits, 0)

    def read(self, text: str) -> int:
        """The number that an operand's digits stand for; for oracles."""
        return int(text[::-1] if self.reverse_operands else text, self.base)

    def write(self, number: int, width: int = 1) -> str:
        """A number as the target has it, with zeros up to `width`; for oracles."""
        digits = ""
        while number or len(digits) < width:
            number, digit = divmod(number, self.base)
            digits += str(digit)
        return digits if self.reverse_answer else digits[::-1]


def carried(
    columns: Int[Array, "*r w"], base: int
) -> tuple[Int[Array, "*r w"], Int[Array, "*r w"]]:
    """Sums of columns, of any sign, -> the digits of the number and what was carried into each
    place.
    """

    def step(carry, column):
        total = column + carry
        return total // base, (total % base, carry)

    _, (digits, carries) = jax.lax.scan(
        step, jnp.zeros_like(columns[..., 0]), jnp.moveaxis(columns, -1, 0)
    )
    return jnp.moveaxis(digits, 0, -1), jnp.moveaxis(carries, 0, -1)


def num_digits(digits: Int[Array, "*r w"]) -> Int[Array, "*r"]:
    """Without leading zeros; 0 has one digit."""
    return jnp.where(digits > 0, jnp.arange(1, digits.shape[-1] + 1), 1).max(axis=-1)


class Text(NamedTuple):
    """Tokens in the order in which they are read; what is not `there` is left out when it is laid
    out.

    Attributes:
      symbol: int, and there: bool.
      significance: from 1, of a digit; 0 for other tokens.
      row: of the number that it stands in, from 1; 0 between numbers.
      scored: bool, a token of the answer.
    """

    symbol: Any
    there: Any
    significance: Any
    row: Any
    scored: Any


def numbers(
    digits: Int[Array, "r w"],
    widths: Int[Array, "r"],
    reverse: bool,
    row: Any = None,
    shift: Any = 0,
    scored: Any = False,
) -> Text:
    """[R, W], the digits of numbers, each with leading zeros up to its width; one of width 0 is
    left out.

    Args:
      row: of each number; 1, 2, … if None.
      shift: of each number, what its digits count for more than they do in the number alone.
      scored: of each number.
    """
    place = jnp.arange(digits.shape[1])[None]
    row = jnp.arange(1, len(digits) + 1) if row is None else row
    there = place < widths[:, None]
    full = lambda of_number: jnp.broadcast_to(jnp.reshape(of_number, (-1, 1)), digits.shape)
    text = Text(digits, there, full(shift) + place + 1, full(row), full(scored))
    return text if reverse else Text(*(field[:, ::-1] for field in text))


def signs(symbol: Any, there: Any, row: Any = 0, scored: Any = False) -> Text:
    """Tokens that are no digits; the arguments have one shape, or are one value for all of them."""
    shape = jnp.broadcast_shapes(*map(jnp.shape, (symbol, there, row, scored)))
    return Text(
        *(jnp.broadcast_to(jnp.asarray(field), shape) for field in (symbol, there, 0, row, scored))
    )


def apart(text: Text, symbol: int) -> Text:
    """A sign in front of every number that is there but the first: [R, ...] -> [R, n]."""
    text = Text(*(field.reshape(len(field), -1) for field in text))
    there = text.there.any(axis=1, keepdims=True) & (jnp.arange(len(text.there)) > 0)[:, None]
    return joined(signs(symbol, there), text)


def joined(*texts: Text) -> Text:
    """One after the other, along the last axis."""
    return Text(*(jnp.concatenate(fields, axis=-1) for fields in zip(*texts, strict=True)))


def stacked(*texts: Text) -> Text:
    """The tokens of the first each followed by those of the others at the same place."""
    return Text(*(jnp.stack(fields, axis=-1) for fields in zip(*texts, strict=True)))


def laid_out(text: Text, size: int) -> Text:
    """[size], what is there, left-aligned, all fields 0 behind it."""
    there = text.there.ravel()
    source = (
        jnp.zeros(size, int)
        .at[jnp.where(there, jnp.cumsum(there) - 1, size)]
        .set(jnp.arange(there.size), mode="drop")
    )
    mask = jnp.arange(size) < there.sum()
    return Text(
        *(jnp.where(mask, field.ravel()[source], jnp.zeros((), field.dtype)) for field in text)
    )


def example(prompt: Text, target: Text) -> Example:
    """Of texts that are laid out."""

    def of(text: Text) -> dict[str, Any]:
        row = jnp.where(text.significance > 0, text.row, 0)
        return {
            "coupled": text.significance,
            "symbols": text.significance > 0,
            "grid": jnp.stack([row, text.significance], axis=-1),
        }

    of_prompt, of_target = of(prompt), of(target)
    return Example(
        prompt.symbol,
        prompt.there,
        target.symbol,
        target.there,
        target.scored,
        jnp.full_like(target.symbol, -1),
        structure={name: (of_prompt[name], of_target[name]) for name in of_prompt},
    )
