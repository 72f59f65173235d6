"""Sort labels by the numbers that they name.

    A : 3 2 1 , B : 5 4 -> B , A
    C : 7 , D : 3 0 , E : 6 -> E , C , D  # reverse=False

Numbers stand with their least significant digit first, so A has 123 and B has 45. Every second
symbol of the target is a comma, which needs no prompt: half of the places are right by themselves.

Papers: McLeish et al. 2024 (https://arxiv.org/abs/2405.17399): "sorting", up to 10 numbers of up to
10 digits in training and 30 of 30 in testing. Checked in the authors' code (mcleish7/arithmetic,
create_data_split.py): the largest number of digits is uniform on 1..max_digits for each list, that
of each number uniform up to it; labels are neighbours in a cyclic list of 102 symbols.

Differs: the separator stands for the equals sign. Some of their labels are tokens that they also
use otherwise (comma and colon); here labels are symbols of their own.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._lists import joined
from pe_lab.tasks.base import Example, Task, Vocabulary

_COMMA, _COLON, _LABELS = 10, 11, 12
_CHUNK = 9  # digits that an int32 holds
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class KeyedSort(Task):
    """The target is the labels in ascending order of their numbers, parted by commas; equal numbers
    keep their order.

    "symbols" are the digits alone.

    Args:
      max_digits: of a number, none of which begins with 0.
      fewer: the largest number of digits is drawn for each list, as in training; else it is
        max_digits, as in testing.
      reverse: the least significant digit first.
      num_labels: the cyclic list that labels are neighbours in, from a uniform start; the longest
        list.
    """

    max_digits: int = 10
    fewer: bool = True
    reverse: bool = True
    num_labels: int = 102

    length_name = "items"

    def __post_init__(self):
        if self.max_digits < 1 or self.num_labels < 2:
            raise ValueError(
                f"KeyedSort needs a digit and two labels or more, got {self.max_digits} and "
                f"{self.num_labels}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        labels = [_LETTERS[i] if i < len(_LETTERS) else f"L{i}" for i in range(self.num_labels)]
        return Vocabulary(_LABELS + self.num_labels, (*"0123456789", ",", ":", *labels))

    @property
    def max_length(self) -> int | None:
        return self.num_labels

    def prompt_bound(self, length: int) -> int:
        return max(length * (self.max_digits + 3) - 1, 0)

    def target_bound(self, length: int) -> int:
        return max(2 * length - 1, 0)

    def sample(self, key, length, bound, data=None) -> Example:
        start, numbers = jax.random.split(key)
        labels = (
            _LABELS
            + (jax.random.randint(start, (), 0, self.num_labels) + jnp.arange(bound))
            % self.num_labels
        )
        mask = jnp.arange(bound) < length
        digits, widths = self._numbers(numbers, bound)
        prompt, there = joined(
            self._items(labels, digits, widths),
            jnp.where(mask, widths + 3, 0),
            self.prompt_bound(bound),
        )
        starts = jnp.cumsum(widths + 3) - widths - 3
        place = jnp.arange(self.target_bound(bound))
        said = place < 2 * length - 1
        ranked = _ascending(digits, mask)[place // 2]
        label = said & (place % 2 == 0)
        target = jnp.where(label, labels[ranked], jnp.where(said, _COMMA, 0))
        symbols = (there & (prompt < _COMMA), jnp.zeros_like(said))
        return Example(
            prompt,
            there,
            target,
            said,
            said,
            jnp.where(label, starts[ranked], -1),
            structure={"symbols": symbols},
        )

    def _numbers(self, key, bound):
        """[n, max_digits] digits, the least significant first, zeros above the width; [n]
        widths.
        """
        most, width, first, rest = jax.random.split(key, 4)
        largest = (
            jax.random.randint(most, (), 1, self.max_digits + 1) if self.fewer else self.max_digits
        )
        widths = jax.random.randint(width, (bound,), 1, largest + 1)
        index = jnp.arange(self.max_digits)[None]
        chunks = jax.random.randint(
            rest, (bound, (self.max_digits - 1) // _CHUNK + 1), 0, 10**_CHUNK
        )
        digits = chunks[:, index[0] // _CHUNK] // 10 ** (index % _CHUNK) % 10
        digits = jnp.where(
            index == widths[:, None] - 1, jax.random.randint(first, (bound, 1), 1, 10), digits
        )
        return jnp.where(index < widths[:, None], digits, 0), widths

    def _items(self, labels, digits, widths):
        """[n, max_digits + 3]: label, colon, digits, comma."""
        column, widths = jnp.arange(self.max_digits + 3)[None], widths[:, None]
        index = column - 2 if self.reverse else widths + 1 - column
        index = jnp.broadcast_to(
            jnp.clip(index, 0, self.max_digits - 1), (len(labels), self.max_digits + 3)
        )
        digit = jnp.take_along_axis(digits, index, axis=1)
        head = jnp.where(column == 0, labels[:, None], _COLON)
        return jnp.where(column < 2, head, jnp.where(column < widths + 2, digit, _COMMA))

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """The number of a target token tells which label of the prompt it is."""
        return "answer" if structure == "coupled" and not causal else None

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return prompt.tolist().count(_COLON)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        items = [
            pair.split(":")
            for pair in self.vocabulary.text(prompt.tolist()).replace(" ", "").split(",")
        ]
        items.sort(key=lambda pair: int(pair[1][:: -1 if self.reverse else 1]))
        return np.array(self.vocabulary.symbols(" , ".join(label for label, _ in items)))


def _ascending(digits, mask):
    """The order of numbers, padding behind: by what int32 can hold of their digits at a time."""
    chunks = [digits[:, i : i + _CHUNK] for i in range(0, digits.shape[1], _CHUNK)]
    keys = [
        (chunk * 10 ** jnp.arange(chunk.shape[1], dtype=jnp.int32)[None]).sum(axis=1)
        for chunk in chunks
    ]
    return jnp.lexsort((*keys, ~mask))  # the last key counts most
