"""The cache of decoding: keys and values of the tokens so far, and the slots that are left.

A context has S slots. A prefill writes the keys of a whole prompt, a step one token's.
Examples may have filled different numbers of slots.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from pe_lab.model.convolution import Recent
from pe_lab.model.keys import Keys, LayerCache
from pe_lab.model.stack import Stack
from pe_lab.model.streams import Positions, View


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Memory:
    """The encoder's output as a decoder reads it.

    Attributes:
      keys: for each layer of the decoder.
      view: of the encoder's stream.
    """

    keys: tuple[Keys, ...]
    view: View


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Cache:
    """State of decoding.

    Attributes:
      positions: of each position scheme, of every slot of the context, [N, B|1, S].
      filled: number of slots that hold tokens.
      keys: of each applied layer, buffers of S slots.
      memory: of an encoder–decoder.
      recent: the last embeddings, if the next ones read them.
    """

    positions: tuple[Positions, ...]
    filled: Int[Array, "b"]
    keys: tuple[Keys, ...]
    memory: Memory | None = None
    recent: Recent = dataclasses.field(default_factory=dict)

    @property
    def num_slots(self) -> int:
        """S."""
        return self.positions[0].shape[2]


@dataclasses.dataclass(frozen=True)
class CacheViews:
    """Views of a cache that next tokens are added to.

    Attributes:
      queries: the next tokens.
      keys: all slots, next tokens included.
      write: the slots of the next tokens; S, which does not exist, for padding.
      counts: number of next tokens of each example, without padding.
    """

    queries: View
    keys: View
    write: Int[Array, "b l"]
    counts: Int[Array, "b"]

    def layers(self, cache: Cache) -> list[LayerCache]:
        """The cache of each applied layer."""
        return [LayerCache(keys, self.write, self.counts) for keys in cache.keys]


def view_cache(cache: Cache, mask: Bool[Array, "b l"]) -> CacheViews:
    """Views of the next tokens and of all slots.

    Padded tokens have the slot and position of their example's last token, and are not written.

    Args:
      mask: True at the next tokens.
    """
    num_slots = cache.num_slots
    counts = mask.sum(axis=1, dtype=cache.filled.dtype)  # also where JAX has 64 bits
    filled = cache.filled + counts
    first_slot = cache.filled[:, None]
    index = jnp.arange(mask.shape[1])[None]
    next_slots = first_slot + index
    write = jnp.where(mask, next_slots, num_slots)  # a write to slot S is dropped
    last_slot = jnp.maximum(filled - 1, 0)  # 0 in an empty context
    last_slot = last_slot[:, None]
    last_slot = jnp.minimum(last_slot, num_slots - 1)  # no slot is left in a full context
    query_slots = jnp.minimum(next_slots, last_slot)
    query_positions = tuple(_take_slots(p, query_slots) for p in cache.positions)
    arange = (False,) * len(query_positions)  # queries and keys start at different positions
    queries = View(
        positions=query_positions,
        valid=mask,
        slots=query_slots,
        lengths=filled,
        arange=arange,
    )
    all_slots = jnp.arange(num_slots)[None]
    is_filled = all_slots < filled[:, None]
    keys = View(
        positions=cache.positions,
        valid=is_filled,
        slots=all_slots,
        lengths=filled,
        arange=arange,
    )
    return CacheViews(queries, keys, write, counts)


def _take_slots(positions: Positions, slots: Int[Array, "b l"]) -> Positions:
    """Positions [N, B|1, S, ...] at each example's slots: [N, B, L, ...]."""
    num_rows, _, *slots_and_axes = positions.shape
    shape = (num_rows, len(slots), *slots_and_axes)
    rows = jnp.broadcast_to(positions, shape)
    axes = (1,) * (rows.ndim - 3)  # broadcast over the axes of a position
    index = slots[None].reshape(1, *slots.shape, *axes)  # [1, B, L, ...]
    return jnp.take_along_axis(rows, index, axis=2)


def empty_keys(stack: Stack, cache: Cache) -> tuple[Keys, ...]:
    """Buffers of zeros for every applied layer."""
    batch = len(cache.filled)
    num_slots = cache.num_slots
    width = stack.embedding.features
    no_tokens = jnp.zeros((batch, 0), bool)
    keys = view_cache(cache, no_tokens).keys

    def layer_keys() -> list[tuple]:
        inputs = jnp.zeros((batch, num_slots, width), stack.dtype)
        terms = stack.self_attention_terms(keys, keys)
        by_layer = []
        # Loops apply one block several times, and each time has keys of its own.
        for step in range(stack.depth):
            layer = step % len(stack.blocks)
            attention = stack.blocks[layer].attention
            new = attention.keys(inputs, keys.valid, terms[layer])
            # A tuple, because the fields of `Keys` must be arrays, and `eval_shape` gives shapes.
            by_layer.append((new.k, new.v, new.features))
        return by_layer

    # Only shapes and types are needed, and only the layers know their features.
    shapes = jax.eval_shape(layer_keys)
    layers = jax.tree.map(jnp.zeros_like, shapes)
    buffers = []
    for step, (k, v, features) in enumerate(layers):
        convolutions = stack.blocks[step % len(stack.blocks)].convolutions
        recent = {} if convolutions is None else convolutions.no_inputs(batch)
        buffers.append(Keys(k, v, features, recent))
    return tuple(buffers)
