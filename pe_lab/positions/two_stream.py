"""Two positions per token: its index in its part, and the index of the part.

Position of token t of n: (index in its part, index of the part).

He et al. 2024, "Two Stones Hit One Bird: Bilevel Positional Encoding for Better Length
Extrapolation", https://arxiv.org/abs/2401.16421.

BiPE encodes axis 0 by a learned embedding at the input, axis 1 by RoPE or ALiBi in attention. In
the authors' code (zhenyuhe00/BiPE, `get_bilevel_ids`) parts are sentences, which end with a full
stop or a newline, and an index beyond the table is clipped to the last row; here parts are the
task's, and nothing is clipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Num

from pe_lab.positions.base import Keys, Mask, PositionScheme, index_since, required, starts


@dataclass(frozen=True)
class TwoStream(PositionScheme):
    """Axis 0 is a token's index in its part, axis 1 the index of the part, both from 0.

    A part starts where structure["parts"] or the segment changes.
    """

    ascending = False
    num_axes = 2
    follows = "parts"

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l a"]:
        parts = required(self, structure, "parts")
        is_start = starts(parts, segments)
        index_in_part = index_since(is_start)
        part = jnp.cumsum(is_start, axis=1) - 1
        positions = jnp.stack([index_in_part, part], axis=-1)
        positions = jnp.where(mask[..., None], positions, 0)
        return positions[None]

    def bound_on(self, axis: int, length: int, train: bool, parts: Sequence[int]) -> int | float:
        num_positions = (max(parts), len(parts))
        return num_positions[axis] - 1

    def bound(self, length: int, train: bool) -> int | float:
        return length - 1
