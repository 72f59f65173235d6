"""The contract of a position scheme, and draws that schemes share.

Shape letters: N position rows (1, or the number of layers for schemes that redraw in each layer), B
batch, L tokens, A axes.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, Num, Shaped

from pe_lab.choices import ChecksChoices

Keys = Key[Array, "b"]  # one for each example
Mask = Bool[Array, "b l"]  # True at tokens, False at padding
Positions = Num[Array, "n _ l"]
Structure = Mapping[str, Shaped[Array, "b l ..."]]  # see `Batch.structure` of the tasks


class PositionScheme(ChecksChoices):
    """Assigns a position to every token. A scheme is a frozen dataclass of its arguments.

    Traits:
      real: positions are fractions.
      reads_length: in evaluation a token's position depends on the length of the whole example,
        which reveals the length of the answer to a decoder.
      arange: positions are consecutive and the same for the whole batch.
      ascending: each position is larger than the previous token's.
      keeps_differences: positions differ by as much as contiguous ones, because all tokens of an
        example are shifted by the same number. A relative encoding cannot notice such a shift.
      one_draw: the two sequences of an encoder–decoder share their random draws, so that tokens
        that belong together have equal positions.
      num_axes: A, the numbers of a position; with 1, positions are [N, B|1, L].
      follows: the key of the structure that positions depend on; None if they depend on the mask
        alone.
      max_length: the most tokens that the scheme has positions for; None for no limit.
    """

    real: ClassVar[bool] = False
    reads_length: ClassVar[bool] = False
    arange: ClassVar[bool] = False
    ascending: ClassVar[bool] = True
    keeps_differences: ClassVar[bool] = False
    one_draw: ClassVar[bool] = False
    num_axes: ClassVar[int] = 1
    follows: ClassVar[str | None] = None
    max_length: int | None = None

    def __call__(
        self,
        keys: Keys,
        mask: Mask,
        *,
        segments: Int[Array, "b l"] | None = None,
        structure: Structure | None = None,
        train: bool,
    ) -> Num[Array, "n _ l *a"]:
        """Return positions [N, B|1, L], or [N, B|1, L, A]; padding has position 0.

        Args:
          keys: one for each example; in evaluation they depend on the split, the length and the
            example alone.
          mask: [B, L], True at tokens. Draws depend on the true length, never on the padded one.
          segments: [B, L], the number of each token's example in its context; None unless examples
            share a context and attend to each other.
          structure: name -> [B, L] or [B, L, A], the labels of the tokens, for schemes that read
            them.
          train: whether schemes that are random only in training draw.
        """
        raise NotImplementedError

    def bound(self, length: int, train: bool) -> int | float:
        """Return the largest position on any axis for an example of `length` tokens."""
        raise NotImplementedError

    def bound_on(self, axis: int, length: int, train: bool, parts: Sequence[int]) -> int | float:
        """Return the largest position on one axis for an example with parts of these lengths."""
        return self.bound(length, train)


def indices(mask: Mask) -> Int[Array, "b l"]:
    """Return 0, 1, 2, … along each row, and 0 at padding; [B, L]."""
    index = jnp.arange(mask.shape[1])
    return jnp.where(mask, index[None], 0)


def random_starts(keys: Keys, most: int) -> Int[Array, "b"]:
    """Draw a uniform integer of 0..most for each example."""

    def draw(key):
        return jax.random.randint(key, (), 0, most + 1)

    return jax.vmap(draw)(keys)


def required(
    scheme: PositionScheme, structure: Structure | None, key: str
) -> Shaped[Array, "b l ..."]:
    """Return the labels of a structure under a key.

    Raises:
      ValueError: the structure does not have this key.
    """
    if structure is None or key not in structure:
        raise ValueError(
            f"{type(scheme).__name__} follows structure[{key!r}], one value a token, and was "
            f"given none."
        )
    return structure[key]


def starts(*labels: Shaped[Array, "b l"] | None) -> Bool[Array, "b l"]:
    """Return True at the first token and where a label changes; labels may be None; [B, L]."""
    changes = []
    for label in labels:
        if label is not None:
            changes.append(label[:, 1:] != label[:, :-1])
    is_change = functools.reduce(jnp.logical_or, changes)
    before_each_row = ((0, 0), (1, 0))  # the first token always starts
    return jnp.pad(is_change, before_each_row, constant_values=True)


def index_since(is_start: Bool[Array, "b l"]) -> Int[Array, "b l"]:
    """Return 0 at each start, then 1, 2, … up to the next start; [B, L]."""
    index = jnp.arange(is_start.shape[1])[None]
    index = jnp.broadcast_to(index, is_start.shape)
    start_index = jnp.where(is_start, index, 0)
    last_start = jax.lax.cummax(start_index, axis=1)  # the latest start so far
    return index - last_start


def sorted_subset(
    key: Key[Array, ""], size: Int[Array, ""], maximum: int, length: int
) -> Int[Array, "{length}"]:  # noqa: F821
    """Draw a uniform subset of `size` numbers of 0..maximum-1; [length], ascending, then zeros.

    This is Floyd's algorithm with a traced size. The same key and size give the same subset for any
    `length`.
    """
    index = jnp.arange(length)
    last = maximum - size + index  # Floyd's j, valid for index < size
    num_candidates = jnp.maximum(last, 0) + 1
    candidates = jax.random.randint(key, (length,), 0, num_candidates)

    def insert(subset, step):
        i, j, candidate = step
        is_taken = (subset == candidate).any()
        # A candidate that is taken is replaced by j, which no earlier step could choose.
        number = jnp.where(is_taken, j, candidate)
        is_next = (index == i) & (i < size)
        subset = jnp.where(is_next, number, subset)
        return subset, None

    empty = jnp.full((length,), maximum)  # larger than every number, so that it is sorted last
    steps = (index, last, candidates)
    subset, _ = jax.lax.scan(insert, empty, steps)
    ascending = jnp.sort(subset)
    return jnp.where(index < size, ascending, 0)
