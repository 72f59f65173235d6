"""Positions that count separators in place of tokens.

Position of token t of n: the number of separators up to t.

No paper: the eleventh word of a sentence is not the same syntactic place in every sentence, so an
index of tokens is the wrong measure where the units of a text have several sizes. Encodings that
learn what to count do so from the content: `cope`, `fox`.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, required


@dataclass(frozen=True)
class Separators(PositionScheme):
    """A token's position is the number of separators so far, the token itself included.

    Separators are the tokens with structure["separators"]. `bound` assumes that every token is one.
    """

    ascending = False
    follows = "separators"

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        is_separator = required(self, structure, "separators").astype(bool) & mask
        count = jnp.cumsum(is_separator, axis=1)
        return jnp.where(mask, count, 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return length
