"""Positions that count tokens, for padding at the start.

Position of token t of n: t, counted from the first token that is not padding.

No paper: decoders pad prompts of several lengths at the start, so that all of them end at the same
index; max(cumsum(mask) - 1, 0) in Hugging Face's models.

The layouts of this project pad at the end, where this scheme equals `contiguous` in each row. It is
for other data.
"""

from dataclasses import dataclass

import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme


@dataclass(frozen=True)
class LeftPadded(PositionScheme):
    """A token's position is the number of tokens before it, without padding."""

    keeps_differences = True

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        tokens_before = jnp.cumsum(mask, axis=1) - 1
        return jnp.where(mask, tokens_before, 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return length - 1
