"""What a position scheme is, and the draws that schemes share.

Shape letters: N position rows (1, or one a layer where a scheme redraws for each), B batch, L
tokens, A axes.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, Num, Shaped

from pe_lab.choices import ChecksChoices

Keys = Key[Array, "b"]  # one an example
Structure = Mapping[
    str, Any
]  # [B, L] each: "symbols", "coupled", "parts"; pe_lab/tasks/layouts.py makes them


class PositionScheme(ChecksChoices):
    """Gives every token its position. A scheme is a frozen dataclass of its arguments.

    Traits:
      real: positions are fractions.
      reads_length: in evaluation a token's position depends on the whole example's length, which
        tells a decoder how long its answer must be.
      arange: positions are consecutive and the same for the whole batch.
      ascending: a token's position is larger than that of the token before it.
      one_draw: the two streams of an encoder–decoder draw alike, so that what belongs together
        stays so.
      num_axes: A, the numbers that a position has; 1: positions are [N, B|1, L].
      follows: the key of the task's structure that positions depend on; None: they depend on the
        mask alone.
      max_length: the most tokens that it has positions for; None for no limit.
    """

    real: ClassVar[bool] = False
    reads_length: ClassVar[bool] = False
    arange: ClassVar[bool] = False
    ascending: ClassVar[bool] = True
    one_draw: ClassVar[bool] = False
    num_axes: ClassVar[int] = 1
    follows: ClassVar[str | None] = None
    max_length: int | None = None

    def __call__(
        self,
        keys: Keys,
        mask: Bool[Array, "b l"],
        *,
        segments: Int[Array, "b l"] | None = None,
        structure: Structure | None = None,
        train: bool,
    ) -> Num[Array, "n _ l *a"]:
        """Positions [N, B|1, L], or [N, B|1, L, A]; padding gets 0.

        Args:
          keys: one an example; in evaluation they depend on split, length and example alone.
          mask: [B, L], True at tokens. Draws use the true length, never the padded one.
          segments: [B, L], the example each token belongs to where several share a context and see
            each other.
          structure: what a task and its layout say of each token, for schemes that follow it.
          train: schemes that are random in training alone ask for it.
        """
        raise NotImplementedError

    def bound(self, length: int, train: bool) -> int | float:
        """The largest position, on any axis, that it can give to an example of `length` tokens."""
        raise NotImplementedError

    def bound_on(self, axis: int, length: int, train: bool, parts: Sequence[int]) -> int | float:
        """The largest on one axis, for an example whose parts have these lengths."""
        return self.bound(length, train)


def indices(mask: Bool[Array, "b l"]) -> Int[Array, "b l"]:
    """0, 1, 2, … along each row, 0 at padding."""
    return jnp.where(mask, jnp.arange(mask.shape[1])[None], 0)


def followed(scheme: PositionScheme, structure: Structure | None, key: str) -> Any:
    """What a structure says under a key, [B, L].

    Raises:
      ValueError: it says nothing there.
    """
    if structure is None or key not in structure:
        raise ValueError(
            f"{type(scheme).__name__} follows structure[{key!r}], one value a token, and was "
            f"given none."
        )
    return structure[key]


def starts(*labels: Shaped[Array, "b l"] | None) -> Bool[Array, "b l"]:
    """True at the first place, and where a label differs from the place before; None is no
    label.
    """
    changed = [label[:, 1:] != label[:, :-1] for label in labels if label is not None]
    return jnp.pad(
        functools.reduce(jnp.logical_or, changed), ((0, 0), (1, 0)), constant_values=True
    )


def since(begins: Bool[Array, "b l"]) -> Int[Array, "b l"]:
    """0 where something begins, then 1, 2, … up to where the next begins."""
    place = jnp.broadcast_to(jnp.arange(begins.shape[1])[None], begins.shape)
    return place - jax.lax.cummax(jnp.where(begins, place, 0), axis=1)


def sorted_subset(
    key: Key[Array, ""], size: Int[Array, ""], maximum: int, length: int
) -> Int[Array, "{length}"]:
    """A uniform `size`-subset of 0..maximum-1, ascending, in the first `size` of `length` places; 0
    after.

    Floyd's algorithm, with a traced size: the same key and size give the same subset at any
    `length`.
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
