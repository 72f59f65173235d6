"""Contiguous positions with a random start in training: absolute positions are uninformative.

Position of token t of n: t + U{0..max_shift}.
Draws: in training.

Kiyono et al. 2021, "SHAPE: Shifted Absolute Position Embedding for Transformers",
https://arxiv.org/abs/2109.05644. The authors' code (butsugiri/shape at a2b04a2) draws from 0..K-1
with K = 500; in evaluation it starts every example at K, here it starts at 0, and
`evaluate.offsets` sets other starts.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, indices, random_starts


@dataclass(frozen=True)
class Shifted(PositionScheme):
    """Token i has position start + i.

    The start is uniform on 0..max_shift for each example in training, and 0 in evaluation.

    Args:
      max_shift: the largest start. It determines which positions are seen, so it has no default.
    """

    max_shift: int

    keeps_differences = True

    def __post_init__(self):
        if self.max_shift < 0:
            raise ValueError(f"shifted's max_shift must be 0 or more, got {self.max_shift}.")

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        if not train:
            return indices(mask)[None]
        start = random_starts(keys, self.max_shift)
        positions = indices(mask) + start[:, None]
        return jnp.where(mask, positions, 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        largest_start = self.max_shift if train else 0
        return largest_start + length - 1
