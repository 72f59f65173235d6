"""Copy a string: a fast task that separates position encodings.

    3 1 2 -> 3 1 2

With distinct symbols, each symbol identifies the one to copy next; with repeated symbols from a
small alphabet, only positions do.

Papers: Huang et al. 2025 (https://arxiv.org/abs/2410.02140): "unique copy" (150 symbols, distinct)
and "repeat copy" (2 symbols, not distinct). Kazemnejad et al. 2023
(https://arxiv.org/abs/2305.19466): "copy cmc", 100 tokens with repetition. Jelassi et al. 2024
(https://arxiv.org/abs/2402.01032): "copy", 26 letters with repetition.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from pe_lab.tasks._strings import StringTask
from pe_lab.tasks.attributes import LONGEST_REPEAT, NUM_REPEATED
from pe_lab.tasks.base import Example, make_example


@dataclass(frozen=True)
class Copy(StringTask):
    """The target is the prompt."""

    num_symbols: int = 64
    distinct: bool = True

    attributes: ClassVar = {"num_repeated": NUM_REPEATED, "longest_repeat": LONGEST_REPEAT}

    def sample(self, key, length, bound, data=None) -> Example:
        string = self.draw_string(key, bound)
        index = jnp.arange(bound)
        mask = index < length
        alignment = jnp.where(mask, index, -1)
        return make_example(string, mask, string, mask, alignment=alignment)
