"""Sort a list.

    7 2 5 -> 2 5 7
    3 3 1 -> 1 3 3  # distinct=False
    8 6 , 1 2 0 , 9 9 -> 8 6 , 9 9 , 1 2 0  # numbers=(10, 9999)

With distinct symbols, each symbol of the answer is a copy of one prompt symbol: the next larger
one.

Papers: Huang et al. 2025 (https://arxiv.org/abs/2410.02140): "sort", distinct symbols of 150, up to
50 in training and 150 in testing. Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466):
"sort", up to 8 items in training and 16 in testing; single tokens (num_symbols=50, distinct=False)
and integers (numbers=(10, 9999)).

Differs: Kazemnejad et al. put words and brackets around both lists, and commas between single
tokens.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from pe_lab.tasks._strings import StringTask, joined
from pe_lab.tasks.base import Bools, Example, Ints, Vocabulary, make_example, numerals

_COMMA = 10


def _is_range(numbers: tuple) -> bool:
    all_integers = all(type(number) is int for number in numbers)
    if len(numbers) != 2 or not all_integers:
        return False
    least, most = numbers
    return 0 <= least < most < 10**9  # 10**9 still fits int32


@dataclass(frozen=True)
class Sort(StringTask):
    """The target is the prompt's items in ascending order, aligned if all items differ.

    Args:
      numbers: the smallest and the largest of uniform integers, which are written in digits and
        separated by commas; their digits are "symbols". None for single symbols, with num_symbols
        and distinct.
    """

    num_symbols: int = 150
    distinct: bool = True
    numbers: tuple[int, int] | None = None

    length_name = "items"

    def __post_init__(self):
        super().__post_init__()
        if self.numbers is not None and not _is_range(self.numbers):
            raise ValueError(
                f"Sort's numbers are two integers, the first less than the second, of 0 to "
                f"{10**9 - 1}, got {self.numbers}."
            )

        defaults = (type(self).num_symbols, type(self).distinct)
        if self.numbers is not None and (self.num_symbols, self.distinct) != defaults:
            raise ValueError("Sort with numbers takes no num_symbols and no distinct.")

    @property
    def vocabulary(self) -> Vocabulary:
        if self.numbers is None:
            return Vocabulary(self.num_symbols)
        return Vocabulary.of(*numerals(10), ",")

    @property
    def max_length(self) -> int | None:
        return super().max_length if self.numbers is None else None

    def prompt_bound(self, length: int) -> int:
        if self.numbers is None:
            return length
        most_digits = len(str(self.numbers[1]))
        return max(length * (most_digits + 1) - 1, 0)

    def target_bound(self, length: int) -> int:
        return self.prompt_bound(length)

    def sample(self, key, length, bound, data=None) -> Example:
        mask = jnp.arange(bound) < length
        if self.numbers is not None:
            least, most = self.numbers
            values = jax.random.randint(key, (bound,), least, most + 1)
            sort_key = jnp.where(mask, values, most + 1)  # padding last
            values = jnp.where(mask, values, 0)
            return self._number_example(values, jnp.sort(sort_key), mask)
        string = self.draw_string(key, bound)
        # Padding is larger than every symbol, so that it comes last.
        sort_key = jnp.where(mask, string, self.num_symbols)
        order = jnp.argsort(sort_key)
        alignment = jnp.where(mask & self.distinct, order, -1)
        return make_example(string, mask, string[order], mask, alignment=alignment)

    def _number_example(self, values: Ints, ordered: Ints, mask: Bools) -> Example:
        """Write both lists in digits."""
        prompt, prompt_mask = self._written(values, mask)
        target, target_mask = self._written(ordered, mask)
        prompt_digits = prompt_mask & (prompt != _COMMA)
        target_digits = target_mask & (target != _COMMA)
        structure = {"symbols": (prompt_digits, target_digits)}
        return make_example(prompt, prompt_mask, target, target_mask, structure=structure)

    def _written(self, values: Ints, mask: Bools) -> tuple[Int[Array, "p"], Bool[Array, "p"]]:
        """Write numbers in digits, separated by commas."""
        assert self.numbers is not None
        most_digits = len(str(self.numbers[1]))
        column = jnp.arange(most_digits + 1)[None]  # the last one for the longest number's comma
        value = values[:, None]
        has_digit = value >= 10 ** column[:, :-1]
        num_digits = has_digit.sum(axis=1)
        num_digits = jnp.maximum(num_digits, 1)  # 0 has one digit
        width = num_digits[:, None]
        # Digits from the most significant one on; columns beyond the width become commas.
        significance = jnp.maximum(width - 1 - column, 0)
        digits = value // 10**significance % 10
        tokens = jnp.where(column < width, digits, _COMMA)
        item_widths = jnp.where(mask, num_digits + 1, 0)
        size = self.prompt_bound(len(values))
        return joined(tokens, item_widths, size)

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """Return what the structure reveals: the alignment of distinct symbols shows them.

        Of numbers, the places of the commas show how many digits each one has.
        """
        if structure == "symbols" and self.numbers is not None and not causal:
            return "answer"
        is_aligned = self.distinct and self.numbers is None
        if structure == "coupled" and is_aligned and not causal:
            return "answer"
        return None

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        if self.numbers is None:
            return len(prompt)
        num_commas = prompt.tolist().count(_COMMA)
        return num_commas + 1
