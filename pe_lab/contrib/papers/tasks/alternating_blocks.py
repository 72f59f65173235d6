"""Count the blocks of a string: has it k blocks of equal letters?

    a a b a a -> no no no yes yes
    a a b a a -> yes  # answer="last"
    a a a a a -> no  # answer="last"
    a b b a b -> no no no no yes  # blocks=4

A string starts with a block of a, and then blocks of b and a alternate. With answer="every" it has
k blocks, and the target says of each prefix whether it has all of them. With answer="last" half of
the strings have k blocks, and half of them two blocks less, so that the last letter says nothing.
Block borders are uniform.

The string of k blocks is the language L_k of a hierarchy: a program of C-RASP of depth d, and so a
transformer without positions of depth d, recognizes L_k for k up to d + 2 in the authors' runs.

Paper: Yang et al. 2025, "Knee-Deep in C-RASP: A Transformer Depth Hierarchy"
(https://arxiv.org/abs/2506.16055): L_3 to L_12, with an answer at each letter. Checked in the
authors' code (pentagonalize/CRASP_depth at 057b0df, generate_data.py).

Differs: they predict each answer at its own letter; here the answers follow the whole string, and a
decoder sees the previous ones. With answer="last", which is not in the paper, it sees none.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

from pe_lab.tasks._draws import distinct
from pe_lab.tasks.base import Example, Task, Vocabulary, make_example, one_symbol_example

_NO, _YES = 2, 3


@dataclass(frozen=True)
class AlternatingBlocks(Task):
    """The target says whether each prefix, or the string, has k blocks.

    Args:
      blocks: k.
      answer: "every" or "last".
    """

    blocks: int = 3
    answer: Literal["every", "last"] = "every"

    length_name = "letters"

    def __post_init__(self):
        if self.blocks < 3:
            raise ValueError(f"AlternatingBlocks needs three blocks or more, got {self.blocks}.")

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.of("a", "b")

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The letters, then the answers."""
        return Vocabulary.of("a", "b", "no", "yes")

    @property
    def min_length(self) -> int:
        return self.blocks

    def target_bound(self, length: int) -> int:
        return 1 if self.answer == "last" else length

    def sample(self, key, length, bound, data=None) -> Example:
        switches_key, member_key = jax.random.split(key)
        index = jnp.arange(bound)
        mask = index < length
        num_switches = self.blocks - 1
        # All sets of different places after the first letter are equally likely.
        switches = 1 + distinct(switches_key, num_switches, length - 1)
        is_member = jnp.asarray(True)
        if self.answer == "last":
            is_member = jax.random.bernoulli(member_key)
        # A string that is no member lacks two of the switches.
        is_used = is_member | (jnp.arange(num_switches) < num_switches - 2)
        has_begun = (switches[:, None] <= index[None]) & is_used[:, None]
        num_begun = has_begun.sum(axis=0)
        string = num_begun % 2
        if self.answer == "last":
            return one_symbol_example(string, mask, jnp.where(is_member, _YES, _NO))
        return make_example(string, mask, jnp.where(num_begun == num_switches, _YES, _NO), mask)
