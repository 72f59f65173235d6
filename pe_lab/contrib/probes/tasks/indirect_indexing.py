"""Find a symbol by its content, and name the one at an offset from it.

    7 4 0 9 2 : 0 +2 -> 2
    7 4 0 9 2 : 9 -3 -> 7

Content alone finds the symbol that the prompt names, and position alone finds the answer: the
offset counts from a place that only the content determines. Offsets to the right are positive.

Paper: Gopalakrishnan et al. 2025 (PoPE, https://arxiv.org/abs/2509.10534): "indirect indexing", the
task on which RoPE is reported to fail and PoPE not.

Checked: the samples in the paper's appendix. No generator of the authors was found.

Differs: theirs are 20 to 40 of 52 letters with a shift that is uniform up to 15 in both directions.
Here the alphabet, the offsets and the lengths are arguments, and no offset is 0.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._draws import distinct
from pe_lab.tasks._strings import check_num_symbols, rearranged, uncoupled
from pe_lab.tasks.attributes import LONGEST_DISTANCE
from pe_lab.tasks.base import Attribute, Example, Scalar, Task, Vocabulary, numerals


def _offset(task: "IndirectIndexing", example: Example) -> Scalar:
    """Return the signed offset of an example, whose symbol is the last one of the prompt."""
    prompt_length = jnp.asarray(example.prompt_mask).sum()
    symbol = jnp.asarray(example.prompt)[prompt_length - 1]
    rank = symbol - task.num_symbols - 1
    most = task.max_offset
    return jnp.where(rank < most, rank - most, rank - most + 1)


def _num_steps(task: "IndirectIndexing", example: Example) -> Scalar:
    return abs(_offset(task, example))


def _is_to_the_right(task: "IndirectIndexing", example: Example) -> Scalar:
    return (_offset(task, example) > 0).astype(jnp.int32)


@dataclass(frozen=True)
class IndirectIndexing(Task):
    """The target is the symbol at an offset from a named symbol of the string.

    The string has distinct symbols. The offset is uniform among those that fit into the string, and
    the named symbol is uniform among those for which the answer is inside the string.

    Args:
      num_symbols: the size of the alphabet, and the longest string.
      max_offset: the largest offset to either side.
    """

    num_symbols: int = 64
    max_offset: int = 8

    attributes: ClassVar = {
        "num_steps": Attribute(
            label="steps from the named symbol to the answer",
            value=_num_steps,
            largest=lambda task, n: min(task.max_offset, n - 1),
        ),
        "to_the_right": Attribute(
            label="1 if the answer is right of the named symbol",
            value=_is_to_the_right,
            largest=lambda task, n: 1,
        ),
        "longest_distance": LONGEST_DISTANCE,
    }

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)
        if self.max_offset < 1:
            raise ValueError(
                f"IndirectIndexing's max_offset is 1 or more, got max_offset={self.max_offset}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        steps = range(1, self.max_offset + 1)
        to_the_left = [f"-{step}" for step in reversed(steps)]
        to_the_right = [f"+{step}" for step in steps]
        return Vocabulary.of(*numerals(self.num_symbols), ":", *to_the_left, *to_the_right)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    @property
    def min_length(self) -> int:
        return 2

    @property
    def max_length(self) -> int | None:
        return self.num_symbols

    def prompt_bound(self, length: int) -> int:
        return length + 3  # a colon, the named symbol and the offset

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        string_key, offset_key, place_key = jax.random.split(key, 3)
        string = distinct(string_key, bound, self.num_symbols)
        # The offsets, without 0, are -most to most.
        most = jnp.minimum(self.max_offset, length - 1)
        drawn = jax.random.randint(offset_key, (), -most, most)
        offset = jnp.where(drawn < 0, drawn, drawn + 1)
        first_place = jnp.maximum(-offset, 0)
        end_place = length - jnp.maximum(offset, 0)
        place = jax.random.randint(place_key, (), first_place, end_place)

        rank = jnp.where(offset < 0, offset, offset - 1) + self.max_offset
        offset_symbol = self.num_symbols + 1 + rank
        index = jnp.arange(self.prompt_bound(bound))
        string_and_room = jnp.append(string, jnp.zeros(3, string.dtype))
        prompt = jnp.select(
            [index == length, index == length + 1, index == length + 2],
            [self.num_symbols, string[place], offset_symbol],
            string_and_room,
        )
        mask = index < length + 3
        target_mask = jnp.ones(1, bool)
        source = place + offset
        structure = uncoupled(mask, target_mask)
        return rearranged(prompt, mask, source[None], target_mask, structure=structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - 3
