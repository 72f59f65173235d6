"""Copy the symbols between blanks.

    _ 3 _ _ 0 2 -> 3 0 2  # num_content=3

The number of symbols to copy is fixed, and the length is the prompt's: longer prompts have more
blanks between the symbols.

Papers: Poli et al. 2024 (MAD, https://arxiv.org/abs/2403.17844): "selective copying", 14 symbols,
16 to copy, sequences of 256 tokens, which are a prompt of 239, a copy token and 16 answer
tokens.

Differs: the copy token is omitted, as every layout marks the start of the answer. As in the
authors' code, each blank precedes a uniform one of the symbols, so a prompt ends with a symbol.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from pe_lab.tasks._strings import rearranged, uncoupled
from pe_lab.tasks.attributes import LONGEST_DISTANCE, longest_run
from pe_lab.tasks.base import Attribute, Example, Scalar, Task, Vocabulary, numerals


def _longest_gap(task: "SelectiveCopy", example: Example) -> Scalar:
    is_blank = example.prompt == task.num_symbols
    return longest_run(jnp.asarray(is_blank))


@dataclass(frozen=True)
class SelectiveCopy(Task):
    """The target is the prompt without its blanks.

    Args:
      num_symbols: the size of the alphabet, without the blank.
      num_content: the number of symbols to copy in each example.
    """

    num_symbols: int = 14
    num_content: int = 16

    attributes: ClassVar = {
        "longest_distance": LONGEST_DISTANCE,
        "longest_gap": Attribute(
            label="longest run of blanks",
            value=_longest_gap,
            largest=lambda task, n: n - task.num_content,
        ),
    }

    def __post_init__(self):
        if self.num_symbols < 2 or self.num_content < 1:
            raise ValueError(
                f"SelectiveCopy needs two symbols or more and one to copy, got "
                f"num_symbols={self.num_symbols} and num_content={self.num_content}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*numerals(self.num_symbols), "_")

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    @property
    def min_length(self) -> int:
        return self.num_content

    def target_bound(self, length: int) -> int:
        return self.num_content

    def sample(self, key, length, bound, data=None) -> Example:
        content_key, blank_key = jax.random.split(key)
        index = jnp.arange(self.num_content)
        content = jax.random.randint(content_key, index.shape, 0, self.num_symbols)
        most_blanks = bound - self.num_content
        next_symbol = jax.random.randint(blank_key, (most_blanks,), 0, self.num_content)
        is_blank = jnp.arange(most_blanks) < length - self.num_content
        precedes = next_symbol[:, None] <= index[None]
        precedes &= is_blank[:, None]
        # A symbol moves by the number of blanks before it.
        num_before = precedes.sum(axis=0)
        source = index + num_before
        blanks = jnp.full(bound, self.num_symbols)
        prompt = blanks.at[source].set(content)
        mask = jnp.arange(bound) < length
        target_mask = jnp.ones(self.num_content, bool)
        structure = uncoupled(mask, target_mask)
        return rearranged(prompt, mask, source, target_mask, structure=structure)
