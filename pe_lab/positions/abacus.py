"""Abacus: each digit has its index in its number, whatever precedes the number.

Position of token t of n: start + index in its run of symbols, 0 for other tokens.
Draws: in training.

McLeish et al. 2024, "Transformers Can Do Arithmetic with the Right Embeddings",
https://arxiv.org/abs/2405.17399.

The authors' code (mcleish7/arithmetic, abacus.py) draws one shift for the whole batch; here each
example has its own shift. There the positions index a learned table of 1024 rows: the encoding
`learned`. Numbers must start with their least significant digit; otherwise equal positions do not
mean equal significance.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.positions.base import (
    Keys,
    Mask,
    Positions,
    PositionScheme,
    index_since,
    random_starts,
    required,
    starts,
)


@dataclass(frozen=True)
class Abacus(PositionScheme):
    """Symbol i of a run, from 1, has position shift + i; all other tokens have 0.

    A run is a sequence of neighbors with structure["symbols"]. It ends where structure["parts"] or
    the segment changes, since a prompt and its blanks are neighbors. The shift is uniform on
    0..max_shift for each example in training, and 0 in evaluation. `bound` assumes one run of all
    tokens. The two sequences of an encoder–decoder have the same shift.

    Args:
      max_shift: the largest shift; 99 in the authors' code.
    """

    max_shift: int = 99

    ascending = False
    one_draw = True
    follows = "symbols"

    def __post_init__(self):
        if self.max_shift < 0:
            raise ValueError(f"abacus's max_shift must be 0 or more, got {self.max_shift}.")

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        is_symbol = required(self, structure, "symbols").astype(bool) & mask
        # A prompt and the target after it are separate numbers.
        parts = None if structure is None else structure.get("parts")
        is_start = starts(is_symbol, parts, segments)
        positions = index_since(is_start) + 1  # 0 is for other tokens
        if train:
            positions += random_starts(keys, self.max_shift)[:, None]
        return jnp.where(is_symbol, positions, 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return length + self.max_shift if train else length
