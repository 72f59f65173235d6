"""What a forward pass computes from positions alone, before it sees any token.

A `Stream` is the input of one stack. Its `View` is how the layers see it, sink token included. The
terms of a stack (embeddings of positions, biases, masks) come from views and are computed once a
forward pass, for all layers that share them.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens


@dataclasses.dataclass(frozen=True)
class Stream:
    """The input of one stack.

    Attributes:
      tokens: [B, L] ids.
      positions: for each position scheme [N, B|1, L], or [N, B|1, L, A] with several axes; N is 1
        or the number of layers. The first scheme is the study's, the others belong to encodings.
      mask: [B, L], True at tokens, False at padding, which follows the tokens.
      segments: [B, L]; tokens of different segments do not see each other. None: one segment.
      arange: static, for each scheme: its positions are consecutive, one row for the whole batch.
    """

    tokens: Any
    positions: tuple[Any, ...]
    mask: Any
    segments: Any = None
    arange: tuple[bool, ...] = (False,)


jax.tree_util.register_dataclass(Stream, ["tokens", "positions", "mask", "segments"], ["arange"])


@dataclasses.dataclass(frozen=True)
class View:
    """A stream as the layers of a stack see it.

    Attributes:
      positions: as in `Stream`, padded tokens at the position of the last valid one.
      valid: [B, L], True at tokens.
      slots: [B|1, L], index of each token on the key axis; None across two streams.
      lengths: [B], valid tokens of each example.
      segments: as in `Stream`.
      arange: static, as in `Stream`.
    """

    positions: tuple[Any, ...]
    valid: Any
    slots: Any
    lengths: Any
    segments: Any = None
    arange: tuple[bool, ...] = (False,)

    def tokens(self, site: "Site", layer: int) -> Tokens:
        """The tokens as an encoding sees them on a layer."""
        rows = self.positions[site.scheme]
        positions = rows[layer if len(rows) > 1 else 0]
        arange = self.arange[site.scheme]
        return Tokens(positions, self.slots, self.lengths, None, arange).on_axis(site.axis)

    def without_slots(self) -> "View":
        """A view for attention between two streams, which have no common key axis."""
        return dataclasses.replace(self, slots=None)

    @property
    def num_rows(self) -> int:
        """N, 1 or the number of layers."""
        return max(len(positions) for positions in self.positions)


jax.tree_util.register_dataclass(
    View, ["positions", "valid", "slots", "lengths", "segments"], ["arange"]
)


@dataclasses.dataclass(frozen=True)
class Site:
    """Where one encoding acts in attention.

    Attributes:
      index: of the encoding among the stack's modules.
      scheme: index of the position scheme that it reads.
      axis: the axis of positions that it reads; None: all.
      heads: the heads that it acts on; None: all.
    """

    index: int
    scheme: int = 0
    axis: int | None = None
    heads: tuple[int, ...] | None = None


@dataclasses.dataclass(frozen=True)
class LayerEncoding:
    """An encoding on one attention layer, with the tokens of both sides.

    Attributes:
      heads: [H], True at the heads that it acts on; None: all.
      Q, K: tokens of queries and of keys.
    """

    encoding: AttentionEncoding
    heads: Bool[Array, "h"] | None
    Q: Tokens
    K: Tokens


@dataclasses.dataclass(frozen=True)
class AttentionTerms:
    """Terms of one attention layer that do not depend on tokens.

    Attributes:
      visible: [B, 1, L, S], True where the model allows a query to attend to a key.
      mask: [B, 1|H, L, S], `visible` restricted by the encodings.
      bias: [B|1, 1|H, L, S], the sum of the encodings' biases; None if there is none.
    """

    encodings: tuple[LayerEncoding, ...]
    visible: Any
    mask: Any
    bias: Any


@dataclasses.dataclass(frozen=True)
class StackTerms:
    """Terms of one stack.

    Attributes:
      embeddings: of each input encoding [B|1, L, C].
      attention: of each layer's self-attention.
      cross: of each layer's cross-attention; empty without an encoder.
      view: of the stack's stream.
    """

    embeddings: tuple[Any, ...]
    attention: tuple[AttentionTerms, ...]
    cross: tuple[AttentionTerms, ...]
    view: View


BiasKey = tuple[tuple[int, ...], int]  # the encodings of a layer, and its row of positions
Biases = Mapping[BiasKey, Any]


def view_of(stream: Stream, sink: bool) -> View:
    """How layers see a stream.

    Args:
      sink: a sink token comes before the others, one position before the first.
    """
    valid, segments = stream.mask, stream.segments
    positions = tuple(at_valid_positions(p, valid) for p in stream.positions)
    if sink:
        positions = tuple(with_sink(p) for p in positions)
        valid = jnp.pad(valid, ((0, 0), (1, 0)), constant_values=True)
        if segments is not None:
            segments = jnp.pad(segments, ((0, 0), (1, 0)))
    slots = jnp.arange(valid.shape[1])[None]
    lengths = valid.sum(axis=1)  # the sink token counts, as in a cache
    return View(positions, valid, slots, lengths, segments, stream.arange)


def at_valid_positions(positions: Any, valid: Bool[Array, "b l"]) -> Any:
    """[N, B|1, L, ...] with padded tokens at their example's last valid position.

    Encodings then never see a position that no token has. One row for the whole batch stays as it
    is: a longer example has its positions.
    """
    if positions.shape[1] == 1 < len(valid):
        return positions
    last = jnp.where(valid, jnp.arange(valid.shape[1])[None], 0).max(axis=1)
    index = last[None, :, None].reshape(1, -1, 1, *(1,) * (positions.ndim - 3))
    last_position = jnp.take_along_axis(positions, index, axis=2)
    is_valid = valid[None].reshape(1, *valid.shape, *(1,) * (positions.ndim - 3))
    return jnp.where(is_valid, positions, last_position)


def with_sink(positions: Any) -> Any:
    """[N, B|1, L, ...] -> [N, B|1, 1 + L, ...]: one position before the first."""
    return jnp.concatenate([positions[:, :, :1] - 1, positions], axis=2)


def visible(
    queries: View, keys: View, *, causal: bool, window: int | None = None, sink: bool = False
) -> Bool[Array, "b 1 l s"]:
    """[B, 1, L, S], True where a query may attend to a key, whatever the encodings.

    Neither is padding, and both belong to one segment.

    Args:
      causal: a query sees no later slot.
      window: a query sees slots less than this far away.
      sink: slot 0 is a sink token: every query sees it, and it sees only itself.
    """
    mask = keys.valid[:, None, None, :]
    query_slots = queries.slots[:, None, :, None]
    key_slots = keys.slots[:, None, None, :]
    if causal:
        mask = mask & (key_slots <= query_slots)
    if window is not None:
        mask = mask & (jnp.abs(key_slots - query_slots) < window)
    if queries.segments is not None and keys.segments is not None:
        mask = mask & (queries.segments[:, :, None] == keys.segments[:, None, :])[:, None]
    if sink:
        is_sink = key_slots == 0
        mask = jnp.where((query_slots == 0) | is_sink, is_sink, mask)
    return mask & queries.valid[:, None, :, None]


def attention_terms(
    encodings: Sequence[LayerEncoding],
    mask: Bool[Array, "_ _ l s"],
    *,
    bias: Float[Array, "_ _ l s"] | None = None,
    hook: Callable[[AttentionEncoding, str], Callable] = getattr,
) -> AttentionTerms:
    """Terms of one attention layer: the encodings restrict the mask and add their biases.

    Args:
      mask: what the model allows.
      bias: the sum of the encodings' biases, if it is known already.
      hook: of the kernels.
    """
    visible = mask
    for e in encodings:
        allowed = e.encoding.mask(e.Q, e.K)
        if allowed is not None:
            mask = mask & on_heads(e.heads, allowed, True)
    if bias is None:
        bias = total_bias(encodings, hook)
    return AttentionTerms(tuple(encodings), visible, mask, bias)


def total_bias(
    encodings: Sequence[LayerEncoding], hook: Callable[[AttentionEncoding, str], Callable]
) -> Float[Array, "_ _ l s"] | None:
    """The sum of the encodings' biases; None without any."""
    total = None
    for e in encodings:
        bias = hook(e.encoding, "bias")(e.Q, e.K)
        if bias is not None:
            total = add(total, on_heads(e.heads, bias, 0))
    return total


def on_heads(heads: Bool[Array, "h"] | None, new: Any, old: Any, axis: int = 1) -> Any:
    """`new` on the heads of an encoding and `old` on the others; heads are on `axis`."""
    if heads is None:
        return new
    shape = [1] * 4
    shape[axis] = len(heads)
    return jnp.where(heads.reshape(shape), new, old)


def add(a: Float[Array, "..."] | None, b: Float[Array, "..."] | None) -> Any:
    """The sum of two terms, either of which may be absent."""
    if a is None:
        return b
    return a if b is None else a + b
