"""Positions that start again at 0 for each example of a context.

No paper: what packing needs where examples share a context and see each other.

The `segment_ids_to_positions` of jax-ml/bonsai (bonsai/utils/rope.py) takes the cumulative sum of
the segment ids, which is right, from 1, for one segment of id 1 alone.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, indices, since, starts


@dataclass(frozen=True)
class Packed(PositionScheme):
    """A token's position is its index inside its segment, a run of equal segment ids; without
    segments, i for token i.
    """

    ascending = False  # from one segment to the next

    def __call__(
        self, keys: Keys, mask: Bool[Array, "b l"], *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l"]:
        if segments is None:
            return indices(mask)[None]
        return jnp.where(mask, since(starts(segments)), 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return length - 1
