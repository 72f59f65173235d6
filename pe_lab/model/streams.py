"""The input of a stack, and the view of it that the layers read.

A caller passes a `Stream`. Its `View` gives every padded token the position of a valid one, so that
no encoding handles padding.

Positions of one scheme are [N, B|1, L], or [N, B|1, L, A] with several axes. N is 1 or the number
of layers.
"""

import dataclasses
from collections.abc import Iterable, Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Num

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.ops import as_positions
from pe_lab.model.sites import Site

Positions = Num[Array, "_ _ _ ..."]

_STATIC = dict(static=True)  # JAX reads this mark of a field


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Stream:
    """The input of one stack.

    Attributes:
      tokens: ids.
      positions: of each position scheme. The first scheme is the study's, the others belong to
        encodings.
      mask: True at tokens, False at padding, which follows the tokens.
      segments: tokens of different segments do not see each other. None: one segment.
      arange: static, for each scheme: its positions are consecutive, one row for the whole batch.
    """

    tokens: Int[Array, "b l"]
    positions: tuple[Positions, ...]
    mask: Bool[Array, "b l"]
    segments: Int[Array, "b l"] | None = None
    arange: tuple[bool, ...] = dataclasses.field(default=(False,), metadata=_STATIC)

    def select(self, rows: Int[Array, "r"]) -> "Stream":
        """The stream of some examples; one row of positions for all examples stays as it is."""

        def select_positions(positions: Positions) -> Positions:
            is_shared = positions.shape[1] == 1
            return positions if is_shared else positions[:, rows]

        segments = self.segments
        return dataclasses.replace(
            self,
            tokens=self.tokens[rows],
            positions=tuple(select_positions(p) for p in self.positions),
            mask=self.mask[rows],
            segments=None if segments is None else segments[rows],
        )

    def shorten(self, num_tokens: int) -> "Stream":
        """The first tokens of every example."""
        first = slice(num_tokens)
        segments = self.segments
        return dataclasses.replace(
            self,
            tokens=self.tokens[:, first],
            positions=tuple(p[:, :, first] for p in self.positions),
            mask=self.mask[:, first],
            segments=None if segments is None else segments[:, first],
        )


Streams = Mapping[str, Stream]  # by the stack that reads it: "encoder", "decoder"


def answering_stack(stacks: Iterable[str]) -> str:
    """The stack whose outputs become logits, among the stacks of an architecture."""
    return "decoder" if "decoder" in stacks else "encoder"


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class View:
    """A stream as the layers of a stack see it.

    Attributes:
      positions: as in `Stream`, padded tokens at the position of the last valid one.
      valid: True at tokens.
      slots: index of each token on the key axis; None across two streams.
      lengths: number of valid tokens of each example.
      segments: as in `Stream`.
      arange: static, as in `Stream`.
    """

    positions: tuple[Positions, ...]
    valid: Bool[Array, "b l"]
    slots: Int[Array, "#b l"] | None
    lengths: Int[Array, "b"]
    segments: Int[Array, "b l"] | None = None
    arange: tuple[bool, ...] = dataclasses.field(default=(False,), metadata=_STATIC)

    @property
    def preceding(self) -> Int[Array, "#b l"] | None:
        """Number of tokens before each one in its segment; as `slots`."""
        if self.slots is None or self.segments is None:
            return self.slots
        before = jnp.pad(self.segments[:, :-1], ((0, 0), (1, 0)))  # segments begin at 1
        is_first = (self.segments != before) | (self.slots == 0)
        first_slots = jnp.where(is_first, self.slots, 0)
        # The largest first slot so far is that of the token's own segment.
        return self.slots - jax.lax.cummax(first_slots, axis=1)

    def tokens(self, site: Site, layer: int) -> Tokens:
        """The tokens as an encoding sees them on a layer."""
        rows = self.positions[site.scheme]
        row = layer if len(rows) > 1 else 0
        tokens = Tokens(
            positions=rows[row],
            slots=self.slots,
            lengths=self.lengths,
            preceding=self.preceding,
            arange=self.arange[site.scheme],
        )
        return tokens.on_axis(site.axis)

    def without_slots(self) -> "View":
        """A view for attention between two streams, which have no common key axis."""
        return dataclasses.replace(self, slots=None)

    @property
    def num_rows(self) -> int:
        """N, 1 or the number of layers."""
        return max(len(positions) for positions in self.positions)


def view_of(stream: Stream) -> View:
    """The view of a stream."""
    valid = stream.mask
    positions = tuple(at_valid_positions(as_positions(p), valid) for p in stream.positions)
    slots = jnp.arange(valid.shape[1])[None]
    lengths = valid.sum(axis=1)
    return View(positions, valid, slots, lengths, stream.segments, stream.arange)


def at_valid_positions(positions: Positions, valid: Bool[Array, "b l"]) -> Positions:
    """Positions with padded tokens at their example's last valid position.

    Encodings then never see a position that no token has. One row for the whole batch stays as it
    is: a longer example has its positions.
    """
    batch, length = valid.shape
    is_shared = positions.shape[1] == 1
    if is_shared and batch > 1:
        return positions
    axes = (1,) * (positions.ndim - 3)  # broadcast over the axes of a position
    slots = jnp.arange(length)[None]
    valid_slots = jnp.where(valid, slots, 0)
    last_slot = valid_slots.max(axis=1)  # 0 of an example without tokens
    index = last_slot[None, :, None]
    index = index.reshape(1, batch, 1, *axes)
    last_position = jnp.take_along_axis(positions, index, axis=2)  # [N, B, 1, ...]
    is_valid = valid[None].reshape(1, batch, length, *axes)
    return jnp.where(is_valid, positions, last_position)
