"""Two positions a token: its place inside its part, and which part it is.

He et al. 2024, "Two Stones Hit One Bird: Bilevel Positional Encoding for Better Length
Extrapolation", https://arxiv.org/abs/2401.16421.

BiPE encodes axis 0 by a learned code at the input, axis 1 by RoPE or ALiBi in attention. In the
authors' code (zhenyuhe00/BiPE, `get_bilevel_ids`) parts are sentences, which end with a full stop
or a line's end, and a place inside beyond its table is clipped to the last; here parts are the
task's, and nothing is clipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, followed, since, starts


@dataclass(frozen=True)
class TwoStream(PositionScheme):
    """Axis 0: a token's index inside its part; axis 1: the part's index; both from 0.

    A part begins where structure["parts"] or the segment differs from the token before.
    """

    ascending = False
    num_axes = 2
    follows = "parts"

    def __call__(
        self, keys: Keys, mask: Bool[Array, "b l"], *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l a"]:
        begins = starts(followed(self, structure, "parts"), segments)
        both = jnp.stack([since(begins), jnp.cumsum(begins, axis=1) - 1], axis=-1)
        return jnp.where(mask[..., None], both, 0)[None]

    def bound_on(self, axis: int, length: int, train: bool, parts: Sequence[int]) -> int | float:
        return (max(parts), len(parts))[axis] - 1

    def bound(self, length: int, train: bool) -> int | float:
        return length - 1
