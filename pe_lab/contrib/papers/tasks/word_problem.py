"""Multiply permutations: the word problem of a finite group.

    102 021 102 -> 102 120 210
    102 021 102 -> 210  # answer="last"
    1 59 3 -> 1 0 3  # group="Z60"

A symbol is an element of the group, written as the permutation of 0, 1, 2, …; if there are more
than ten points, it is the number of the element. The target has the product of each prefix, or that
of the whole string. In a product p · q the permutation q acts first.

In a group that is not solvable, such as A5 and S5, the problem is complete for NC1, so transformers
of a fixed depth do not solve it for all lengths unless TC0 = NC1. Z60 and A4xZ5 are solvable groups
of the same size as A5.

Papers: Liu et al. 2023, "Transformers Learn Shortcuts to Automata"
(https://arxiv.org/abs/2210.10749): automata of groups. Merrill et al. 2024, "The Illusion of State
in State-Space Models" (https://arxiv.org/abs/2404.08819): A5, A4xZ5 and Z60, uniform elements.
Checked in the authors' code (jopetty/word-problem at 0fb17d1, src/generate_data.py): elements of S
and Z have these numbers, and each prefix is multiplied from the left as here.

Differs: they predict each product at its own element; here the answers follow the whole string, and
a decoder sees the previous ones, from which one step leads to the next. With answer="last" a
decoder sees no product. They draw strings without repetition.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

from pe_lab.contrib.papers.tasks._groups import Group, generated, named
from pe_lab.tasks.base import (
    Example,
    Task,
    Vocabulary,
    make_example,
    numerals,
    one_symbol_example,
)

_MOST_POINTS = 10  # of a permutation that is written with one digit for each point


@dataclass(frozen=True)
class WordProblem(Task):
    """The target is the product of each prefix, or of the whole string.

    Args:
      group: S, A or Z with a number, or a product of these such as A4xZ5.
      generators: permutations, for example ((1, 0, 2), (0, 2, 1)), in the place of `group`.
      symbols: the string has uniform elements, or uniform generators.
      answer: "every", the product of each prefix; "last", that of the string.
    """

    group: str = "S3"
    generators: tuple[tuple[int, ...], ...] = ()
    symbols: Literal["elements", "generators"] = "elements"
    answer: Literal["every", "last"] = "every"

    length_name = "elements"

    def __post_init__(self):
        if self.generators and self.group != type(self).group:
            raise ValueError(
                f"WordProblem takes a group or generators, got group={self.group!r} and "
                f"generators={self.generators}."
            )
        if self.symbols == "generators" and len(set(self.generators)) < 2:
            raise ValueError(
                f"WordProblem needs two generators or more to draw from, got {self.generators}."
            )
        if len(self._group.elements) < 2:
            raise ValueError("WordProblem needs a group of two elements or more.")

    @property
    def _group(self) -> Group:
        return generated(self.generators) if self.generators else named(self.group)

    @property
    def vocabulary(self) -> Vocabulary:
        elements = self._group.elements
        if len(elements[0]) > _MOST_POINTS:
            return Vocabulary.of(*numerals(len(elements)))
        return Vocabulary.of(*("".join(map(str, element)) for element in elements))

    def target_bound(self, length: int) -> int:
        return 1 if self.answer == "last" else length

    def sample(self, key, length, bound, data=None) -> Example:
        group = self._group
        drawn = self.generators if self.symbols == "generators" else group.elements
        numbers = jnp.asarray([group.elements.index(element) for element in drawn])
        index = jax.random.randint(key, (bound,), 0, len(drawn))
        mask = jnp.arange(bound) < length
        string = jnp.where(mask, numbers[index], 0)  # 0 is the identity
        table = jnp.asarray(group.table)
        products = jax.lax.associative_scan(lambda p, q: table[p, q], string)
        if self.answer == "last":
            return one_symbol_example(string, mask, products[-1])
        return make_example(string, mask, products, mask)
