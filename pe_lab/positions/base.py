"""What a position scheme is, and the draws that schemes share.

Shape letters: N position rows (1, or one a layer where a scheme redraws for each), B batch, L tokens.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, Num

Keys = Key[Array, "b"]  # one an example


class PositionScheme:
    """Gives every token its position. A scheme is a frozen dataclass of its arguments.

    Traits:
      real: positions are fractions.
      reads_length: a token's position depends on the whole example's length, which tells a decoder
        how long its answer must be.
      arange: positions are consecutive and the same for the whole batch.
      max_length: the most tokens that it has positions for; None for no limit.
    """

    real: ClassVar[bool] = False
    reads_length: ClassVar[bool] = False
    arange: ClassVar[bool] = False
    max_length: int | None = None

    def __call__(
        self,
        keys: Keys,
        mask: Bool[Array, "b l"],
        *,
        segments: Int[Array, "b l"] | None = None,
        structure: object = None,
        train: bool,
    ) -> Num[Array, "n _ l"]:
        """Positions [N, B|1, L]; padding gets 0.

        Args:
          keys: one an example; in evaluation they depend on split, length and example alone.
          mask: [B, L], True at tokens. Draws use the true length, never the padded one.
          segments: [B, L], the example each token belongs to where several share a context.
          structure: what a task says of its tokens, for schemes that follow it.
          train: schemes that are random in training alone ask for it.
        """
        raise NotImplementedError

    def bound(self, length: int) -> int | float:
        """The largest position that it can give to an example of `length` tokens."""
        raise NotImplementedError


def indices(mask: Bool[Array, "b l"]) -> Int[Array, "b l"]:
    """0, 1, 2, … along each row, 0 at padding."""
    return jnp.where(mask, jnp.arange(mask.shape[1])[None], 0)


def sorted_subset(key: Key[Array, ""], size: Int[Array, ""], maximum: int, length: int) -> Int[Array, "{length}"]:
    """A uniform `size`-subset of 0..maximum-1, ascending, in the first `size` of `length` places; 0 after.

    Floyd's algorithm, with a traced size: the same key and size give the same subset at any `length`.
    """
    place = jnp.arange(length)
    last = maximum - size + place  # Floyd's j, meaningful while place < size
    drawn = jax.random.randint(key, (length,), 0, jnp.maximum(last, 0) + 1)

    def insert(chosen, step):
        i, j, t = step
        taken = (chosen == t).any()
        return jnp.where((place == i) & (i < size), jnp.where(taken, j, t), chosen), None

    empty = jnp.full((length,), maximum)  # sorts behind all that is chosen
    chosen, _ = jax.lax.scan(insert, empty, (place, last, drawn))
    return jnp.where(place < size, jnp.sort(chosen), 0)
