"""Sort a list.

    7 2 5 -> 2 5 7
    3 3 1 -> 1 3 3  # distinct=False
    8 6 , 1 2 0 , 9 9 -> 8 6 , 9 9 , 1 2 0  # numbers=(10, 9999)

With distinct symbols each one of the answer stands at one place of the prompt: to find it is to
find the next larger.

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

from pe_lab.tasks._lists import joined
from pe_lab.tasks.base import Example, StringTask, Vocabulary, random_string

_COMMA = 10


def _two_numbers(given: tuple) -> bool:
    return (
        len(given) == 2 and all(type(n) is int for n in given) and 0 <= given[0] < given[1] < 10**9
    )


@dataclass(frozen=True)
class Sort(StringTask):
    """The target is the prompt's items in ascending order. It is aligned where no two of them can
    be equal.

    Args:
      numbers: the least and the largest of uniform integers, written in digits and parted by
        commas; their digits are "symbols". None for single symbols, in which case num_symbols and
        distinct say which.
    """

    num_symbols: int = 150
    distinct: bool = True
    numbers: tuple[int, int] | None = None

    length_name = "items"

    def __post_init__(self):
        super().__post_init__()
        if self.numbers is not None and not _two_numbers(self.numbers):
            raise ValueError(
                f"Sort's numbers are two whole ones, the first less than the second, of 0 to "
                f"{10**9 - 1}, got {self.numbers}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return (
            Vocabulary(self.num_symbols)
            if self.numbers is None
            else Vocabulary(11, (*"0123456789", ","))
        )

    @property
    def max_length(self) -> int | None:
        return super().max_length if self.numbers is None else None

    def prompt_bound(self, length: int) -> int:
        return (
            length if self.numbers is None else max(length * (len(str(self.numbers[1])) + 1) - 1, 0)
        )

    def target_bound(self, length: int) -> int:
        return self.prompt_bound(length)

    def sample(self, key, length, bound, data=None) -> Example:
        mask = jnp.arange(bound) < length
        if self.numbers is not None:
            values = jax.random.randint(key, (bound,), self.numbers[0], self.numbers[1] + 1)
            return self._written(
                jnp.where(mask, values, 0),
                jnp.sort(jnp.where(mask, values, self.numbers[1] + 1)),
                mask,
            )
        string = random_string(key, self.num_symbols, bound, self.distinct)
        order = jnp.argsort(jnp.where(mask, string, self.num_symbols))
        alignment = jnp.where(mask & self.distinct, order, -1)
        return Example(
            jnp.where(mask, string, 0),
            mask,
            jnp.where(mask, string[order], 0),
            mask,
            mask,
            alignment,
        )

    def _written(self, values, ordered, mask) -> Example:
        """Both lists in digits."""
        prompt, there = self._digits(values, mask)
        target, said = self._digits(ordered, mask)
        symbols = (there & (prompt != _COMMA), said & (target != _COMMA))
        return Example(
            prompt,
            there,
            target,
            said,
            said,
            jnp.full(len(target), -1),
            structure={"symbols": symbols},
        )

    def _digits(self, values, mask):
        assert self.numbers is not None
        column = jnp.arange(len(str(self.numbers[1])) + 1)[
            None
        ]  # the last for the comma behind the longest
        widths = jnp.maximum((values[:, None] >= 10 ** column[:, :-1]).sum(axis=1), 1)[
            :, None
        ]  # 0 has a digit too
        digits = values[:, None] // 10 ** jnp.maximum(widths - 1 - column, 0) % 10
        tokens = jnp.where(column < widths, digits, _COMMA)
        return joined(tokens, jnp.where(mask, widths[:, 0] + 1, 0), self.prompt_bound(len(values)))

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """Of distinct symbols, the number of a target token tells which prompt symbol it is."""
        pointed_at = structure == "coupled" and self.distinct and self.numbers is None
        return "answer" if pointed_at and not causal else None

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) if self.numbers is None else prompt.tolist().count(_COMMA) + 1

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        if self.numbers is None:
            return np.array(sorted(prompt.tolist()))
        words = self.vocabulary.text(prompt.tolist()).replace(" ", "").split(",")
        return np.array(self.vocabulary.symbols(" ".join(",".join(sorted(words, key=int)))))
