"""Training positions with regular holes, which evaluation fills: interpolation of positions.

Position of token t of n: the (t + U{0..max_shift})-th position outside of the holes.
Draws: in training.

No paper: whether a smooth embedding helps at positions that training never shows, but whose
neighbors it shows.

With period 3 and size 1, training has the positions 0, 1, 3, 4, 6, 7, …. Evaluation counts in the
same way, and `evaluate.offsets` moves its tokens: an offset of 1 gives 1, 2, 4, 5, …, of which
2, 5, … are in holes, and an offset of one period gives trained positions again. The distances
between tokens are the same in all three, so relative encodings do not notice the offset.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Int

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, indices, random_starts


@dataclass(frozen=True)
class Holes(PositionScheme):
    """Token i has the (start + i)-th position outside of the holes, counted from 0.

    The last `size` of each `period` positions are a hole. The start is uniform on 0..max_shift for
    each example in training, and 0 in evaluation.

    Args:
      max_shift: the largest start. It determines which positions are seen, so it has no default.
      period: positions from the start of one hole to the start of the next.
      size: positions of a hole. With 1 of 2, an offset of 1 moves every token into a hole; a large
        period makes blocks.
    """

    max_shift: int
    period: int = 3
    size: int = 1

    def __post_init__(self):
        if self.max_shift < 0:
            raise ValueError(f"holes's max_shift must be 0 or more, got {self.max_shift}.")
        if not 1 <= self.size < self.period:
            raise ValueError(
                f"holes's size must be from 1 to period - 1 = {self.period - 1}, got {self.size}."
            )

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        number = indices(mask)
        if train:
            number += random_starts(keys, self.max_shift)[:, None]
        return jnp.where(mask, self._outside(number), 0)[None]

    def _outside(self, number: Int[Array, "b l"]) -> Int[Array, "b l"]:
        """Return the positions outside of the holes with these numbers."""
        num_trained = self.period - self.size  # in each period
        return self.period * (number // num_trained) + number % num_trained

    def bound(self, length: int, train: bool) -> int | float:
        largest_start = self.max_shift if train else 0
        period, index = divmod(largest_start + length - 1, self.period - self.size)
        return self.period * period + index
