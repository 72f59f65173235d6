"""Positions that restart at 0 for each example of a context.

Position of token t of n: t, from 0 again at each segment.

No paper: positions for packed examples that share a context and attend to each other.

The `segment_ids_to_positions` of jax-ml/bonsai (bonsai/utils/rope.py) is the cumulative sum of the
segment ids, which is correct (from 1) only for a single segment with id 1.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.positions.base import (
    Keys,
    Mask,
    Positions,
    PositionScheme,
    index_since,
    indices,
    starts,
)


@dataclass(frozen=True)
class Packed(PositionScheme):
    """A token's position is its index in its segment, or in its row without segments."""

    ascending = False  # from one segment to the next

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        if segments is None:
            return indices(mask)[None]
        # Padding has segment 0, a segment of its own, which the mask removes.
        positions = index_since(starts(segments))
        return jnp.where(mask, positions, 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return length - 1
