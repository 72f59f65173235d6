"""What stacks read and keep: streams of tokens, their view from the layers, an encoder's memory, a decoder's cache."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from pe_lab.encodings.base import Tokens
from pe_lab.transformer.attention import Keys


@dataclasses.dataclass(frozen=True)
class Stream:
    """What one stack reads.

    Attributes:
      tokens: [B, L] ids.
      positions: [N, B|1, L] of a position scheme, or [N, B|1, L, A]; N is 1 or the number of layers.
      mask: [B, L], True at tokens, False at padding.
      segments: [B, L]; tokens of different segments do not see each other. None: there is one.
      arange: static; the positions are consecutive, one row for the whole batch.
    """

    tokens: Any
    positions: Any
    mask: Any
    segments: Any = None
    arange: bool = False


jax.tree_util.register_dataclass(Stream, ["tokens", "positions", "mask", "segments"], ["arange"])


@dataclasses.dataclass(frozen=True)
class View:
    """A stream as the layers of a stack see it: its tokens for each row of positions, sink token included."""

    rows: tuple[Tokens, ...]  # one, or one a layer
    valid: Any
    segments: Any

    def row_of(self, layer: int) -> Tokens:
        return self.rows[layer if len(self.rows) > 1 else 0]


jax.tree_util.register_dataclass(View, ["rows", "valid", "segments"], [])


@dataclasses.dataclass(frozen=True)
class Memory:
    """An encoder's output as the decoder's cross-attention reads it: the keys of each of its layers, made once."""

    view: View
    keys: tuple[Keys, ...]


jax.tree_util.register_dataclass(Memory, ["view", "keys"], [])


@dataclasses.dataclass(frozen=True)
class Cache:
    """What decoding keeps: raw keys, values and features of every applied layer, and the positions of all slots.

    Attributes:
      positions: [N, B|1, S], given for the whole context when it starts.
      filled: [B], how many slots hold tokens.
      keys: of each applied layer, in order; buffers of S slots, without positions.
      memory: the encoder's, for an encoder–decoder.
    """

    positions: Any
    filled: Any
    keys: tuple[Keys, ...]
    memory: Memory | None


jax.tree_util.register_dataclass(Cache, ["positions", "filled", "keys", "memory"], [])


def with_sink(positions: Any) -> Any:
    """[N, B|1, L] -> [N, B|1, 1 + L], axes behind if there are any: one position before the first."""
    return jnp.concatenate([positions[:, :, :1] - 1, positions], axis=2)


def at(positions: Any, slots: Int[Array, "b l"]) -> Any:
    """[N, B|1, S] at each example's slots -> [N, B, L]; slots beyond the last give the last, and are not written."""
    rows = jnp.broadcast_to(positions, (len(positions), len(slots), *positions.shape[2:]))
    index = jnp.minimum(slots, positions.shape[2] - 1)[None]
    return jnp.take_along_axis(rows, index.reshape(*index.shape, *(1,) * (rows.ndim - 3)), axis=2)


def all_slots(cache: Cache) -> View:
    """Everything that a cache has room for; what is not filled is not valid."""
    slots = jnp.arange(cache.positions.shape[2])[None]
    rows = tuple(Tokens(p, slots, cache.filled) for p in cache.positions)
    return View(rows, slots < cache.filled[:, None], None)


def apart(view: View) -> View:
    """A view for attention between two streams, which have no slots in common."""
    return dataclasses.replace(view, rows=tuple(dataclasses.replace(tokens, slots=None) for tokens in view.rows))


def keeper(old: Keys, tokens: Tokens, slots: Int[Array, "b l"]) -> Callable[[Keys], Keys]:
    """Puts new keys into their slots of a buffer; what is beyond the room is not written."""

    def insert(buffer, values):
        return buffer.at[jnp.arange(len(slots))[:, None], slots].set(values, mode="drop")

    def keep(new: Keys) -> Keys:
        features = jax.tree.map(insert, old.tokens.features, new.tokens.features)
        return Keys(insert(old.k, new.k), insert(old.v, new.v), dataclasses.replace(tokens, features=features))

    return keep
