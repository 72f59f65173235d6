"""Shared parts of the tasks on long numbers: drawing and reading operands, and carrying.

Shape letters: R numbers of a text, W digits of a number, the least significant first.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks.attributes import longest_run
from pe_lab.tasks.base import (
    Attribute,
    Bools,
    Example,
    Ints,
    RandomKey,
    Scalar,
    Task,
    numerals,
)


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
        text = "".join(names[symbol] for symbol in prompt)
        return text.split(sign)


def carried(
    columns: Int[Array, "*r w"], base: int
) -> tuple[Int[Array, "*r w"], Int[Array, "*r w"]]:
    """Turn sums of columns (of any sign) into digits and the carry into each digit."""

    def step(carry, column):
        # % and // floor, so a negative column borrows from the next one.
        total = column + carry
        digit = total % base
        return total // base, (digit, carry)

    no_carry = jnp.zeros_like(columns[..., 0])
    columns_first = jnp.moveaxis(columns, -1, 0)  # a scan reads the first axis
    _, (digits, carries) = jax.lax.scan(step, no_carry, columns_first)
    digits = jnp.moveaxis(digits, 0, -1)
    carries = jnp.moveaxis(carries, 0, -1)
    return digits, carries


def carries_of_kind(
    kind: str, columns: Int[Array, "r w"], carries: Int[Array, "r w"], base: int
) -> Int[Array, "r w"]:
    """Return the carries into each digit, or a part of them.

    Args:
      kind: "carries"; "direct_carries", from the column below alone, without its own carry; or
        "virtual_carries", all others.
      carries: all of them.
    """
    carries_out = columns[:, :-1] // base
    direct = jnp.pad(carries_out, ((0, 0), (1, 0)))  # into the next digit
    of_kind = {
        "carries": carries,
        "direct_carries": direct,
        "virtual_carries": carries - direct,
    }
    return of_kind[kind]


def _has_carry(task: Arithmetic, example: Example) -> Bools:
    """Whether the sum of the prompt's operands has a carry into each digit."""
    labels, _ = example.structure["grid"]
    significance = jnp.asarray(labels)[:, 1]
    # Tokens that are no digits have significance 0. A carry may lead beyond the longest operand.
    columns = jnp.zeros(len(significance) + 2, int)
    columns = columns.at[significance].add(example.prompt)
    _, carries = carried(columns[1:], task.base)
    return carries > 0


def _num_carries(task: Arithmetic, example: Example) -> Scalar:
    return _has_carry(task, example).sum()


def _longest_carry_chain(task: Arithmetic, example: Example) -> Scalar:
    return longest_run(_has_carry(task, example))


def _target_bound(task: Arithmetic, length: int) -> int:
    return task.target_bound(length)


# The attributes of additions, whose structure "grid" has the significance of each digit.
CARRIES = {
    "num_carries": Attribute(
        label="digits of the sum with a carry",
        value=_num_carries,
        largest=_target_bound,
    ),
    "longest_carry_chain": Attribute(
        label="longest run of digits with a carry",
        value=_longest_carry_chain,
        largest=_target_bound,
    ),
}


def num_digits(digits: Int[Array, "*r w"]) -> Int[Array, "*r"]:
    """Return the number of digits without leading zeros; 0 has one digit."""
    significance = jnp.arange(1, digits.shape[-1] + 1)
    significance = jnp.where(digits > 0, significance, 1)
    return significance.max(axis=-1)


def digits_of_sum(base: int, count: int, digits: int) -> int:
    """Return the number of digits of the largest sum of `count` numbers of `digits` digits."""
    # Python's integers, because a sum of long numbers does not fit 64 bits.
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
