"""Look up a name in a phone book.

    n7 6 1 3 n2 9 0 4 n5 8 8 8 n2 -> 9 0 4  # num_digits=3

The prompt is a name and its number for each entry, then one of the names, each equally likely.

Papers: Jelassi et al. 2024 (https://arxiv.org/abs/2402.01032): "phone-book", numbers of ten digits,
the first one on 6..9, as here.

Differs: there pretrained language models read English names, drawn with repetition, after two
entries as examples. Here a name is one symbol and all names differ, so that every question has one
answer. A model that is trained on the task needs no examples.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._draws import distinct
from pe_lab.tasks._strings import rearranged, uncoupled
from pe_lab.tasks.attributes import LONGEST_DISTANCE
from pe_lab.tasks.base import Attribute, Example, Scalar, Task, Vocabulary, numerals


def _needle(task: "PhoneBook", example: Example) -> Scalar:
    first_source = jnp.asarray(example.alignment)[0]
    return first_source // (1 + task.num_digits)


@dataclass(frozen=True)
class PhoneBook(Task):
    """The target is the number of the name that the prompt ends with.

    Args:
      num_names: the number of names to draw from.
      num_digits: the digits of a number.
    """

    num_names: int = 1000
    num_digits: int = 10

    length_name = "entries"
    attributes: ClassVar = {
        "needle": Attribute(
            label="index of the entry, from 0",
            value=_needle,
            largest=lambda task, n: n - 1,
        ),
        "longest_distance": LONGEST_DISTANCE,
    }

    def __post_init__(self):
        if self.num_names < 2 or self.num_digits < 1:
            raise ValueError(
                f"PhoneBook needs two names or more and numbers of a digit or more, got "
                f"num_names={self.num_names} and num_digits={self.num_digits}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        names = [f"n{i}" for i in range(self.num_names)]
        return Vocabulary.of(*numerals(10), *names)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(10)

    @property
    def max_length(self) -> int | None:
        return self.num_names

    def prompt_bound(self, length: int) -> int:
        return (1 + self.num_digits) * length + 1

    def target_bound(self, length: int) -> int:
        return self.num_digits

    def sample(self, key, length, bound, data=None) -> Example:
        name_key, digit_key, query_key = jax.random.split(key, 3)
        names = 10 + distinct(name_key, bound, self.num_names)
        digit_index = jnp.arange(self.num_digits)
        # The first digit is at least 6.
        least = jnp.where(digit_index == 0, 6, 0)[None]
        # Uniform fractions are twice as fast as uniform integers here.
        uniform = jax.random.uniform(digit_key, (bound, self.num_digits))
        above_least = uniform * (10 - least)
        digits = least + above_least.astype(jnp.int32)
        entries = jnp.concatenate([names[:, None], digits], axis=1)
        book = entries.reshape(-1)
        query = jax.random.randint(query_key, (), 0, length)

        width = 1 + self.num_digits
        query_index = width * length
        index = jnp.arange(self.prompt_bound(bound))
        book_and_room = jnp.append(book, 0)  # for the query of the longest book
        prompt = jnp.where(index == query_index, names[query], book_and_room)
        mask = index <= query_index
        target_mask = jnp.ones(self.num_digits, bool)
        source = width * query + 1 + digit_index
        # Symbols 0 to 9 are digits, larger symbols are names.
        is_digit = mask & (prompt < 10)
        structure = {"symbols": (is_digit, target_mask), **uncoupled(mask, target_mask)}
        return rearranged(prompt, mask, source, target_mask, structure=structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) // (1 + self.num_digits)
