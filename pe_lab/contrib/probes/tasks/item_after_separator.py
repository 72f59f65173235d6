"""Name the item after the k-th separator.

    3 3 / 4 / 0 0 0 / 7 : #2 -> 0
    5 / 1 1 1 1 : #1 -> 1

An item is a symbol that is written once or several times, so the k-th item may begin at many
tokens. A position that counts separators names the item, and a position that counts tokens does
not: it must be turned into the other by counting.

No paper: "the 11th word of two sentences is not the same syntactic place", as a task. Counts of
separators that are learned from content are those of CoPE, Golovneva et al. 2024
(https://arxiv.org/abs/2405.18719).
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._strings import check_num_symbols, joined, rearranged, uncoupled
from pe_lab.tasks.attributes import LONGEST_DISTANCE
from pe_lab.tasks.base import Attribute, Example, Scalar, Task, Vocabulary, numerals


def _index(task: "ItemAfterSeparator", example: Example) -> Scalar:
    """Return k of an example, whose symbol is the last one of the prompt."""
    prompt_length = jnp.asarray(example.prompt_mask).sum()
    symbol = jnp.asarray(example.prompt)[prompt_length - 1]
    return symbol - task.num_symbols - 1  # after the separator and the colon


@dataclass(frozen=True)
class ItemAfterSeparator(Task):
    """The target is the symbol of item k, counted from 0, of a list with / between its items.

    Symbols and widths of items are uniform and independent. k is uniform on 1 to the last item, or
    to `max_index`.

    Args:
      num_symbols: the number of symbols of items.
      max_width: the most tokens of an item.
      max_index: the largest k. Training on longer lists shows every k.
    """

    num_symbols: int = 16
    max_width: int = 4
    max_index: int = 8

    length_name = "items"
    attributes: ClassVar = {
        "index": Attribute(
            label="separators before the item",
            value=_index,
            largest=lambda task, n: min(task.max_index, n - 1),
        ),
        "longest_distance": LONGEST_DISTANCE,
    }

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)
        for name in ("max_width", "max_index"):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"ItemAfterSeparator's {name} must be at least 1, got {value}.")

    @property
    def vocabulary(self) -> Vocabulary:
        indices = [f"#{k}" for k in range(1, self.max_index + 1)]
        return Vocabulary.of(*numerals(self.num_symbols), "/", ":", *indices)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    @property
    def min_length(self) -> int:
        return 2

    def prompt_bound(self, length: int) -> int:
        return length * (self.max_width + 1) + 1  # no separator at the end, and the query

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        symbols_key, widths_key, index_key = jax.random.split(key, 3)
        symbols = jax.random.randint(symbols_key, (bound,), 0, self.num_symbols)
        widths = jax.random.randint(widths_key, (bound,), 1, self.max_width + 1)
        last_index = jnp.minimum(self.max_index, length - 1)
        k = jax.random.randint(index_key, (), 1, last_index + 1)

        column = jnp.arange(self.max_width + 1)[None]
        separator = self.num_symbols
        items = jnp.where(column < widths[:, None], symbols[:, None], separator)
        num_tokens = jnp.where(jnp.arange(bound) < length, widths + 1, 0)  # with the separator
        size = self.prompt_bound(bound)
        tokens, is_list = joined(items, num_tokens, size)
        list_length = is_list.sum()
        index = jnp.arange(size)
        colon = separator + 1
        prompt = jnp.select(
            [index == list_length, index == list_length + 1],
            [colon, colon + k],
            tokens,
        )
        mask = index < list_length + 2
        target_mask = jnp.ones(1, bool)
        source = num_tokens.cumsum()[k - 1]  # after k items and their separators
        is_separator = is_list & (tokens == separator)
        structure = {
            **uncoupled(mask, target_mask),
            "separators": (is_separator, jnp.zeros(1, bool)),
        }
        return rearranged(prompt, mask, source[None], target_mask, structure=structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return int((prompt == self.num_symbols).sum()) + 1
