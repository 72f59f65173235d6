"""The keys and values of a layer, and the buffers that hold them while decoding."""

import dataclasses

import jax
from jaxtyping import Array, Float, Int, PyTree


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Keys:
    """The keys and values that queries attend to. A cache holds the same.

    Attributes:
      features: for each encoding of the layer, its state of the keys, leaves [B, S, ...].
      recent: in a cache, the last inputs of each short convolution, [B, W, ...].
    """

    k: Float[Array, "b s h e"]
    v: Float[Array, "b s h e"]
    features: tuple[PyTree, ...] = ()
    recent: dict[str, Array] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class LayerCache:
    """The cache of one applied layer, to which the keys of next tokens are added.

    Attributes:
      keys: buffers of all slots.
      slots: of the next tokens; S, which does not exist, for padding.
      counts: number of next tokens of each example, without padding.
    """

    keys: Keys
    slots: Int[Array, "b l"]
    counts: Int[Array, "b"]

    def add(self, new: Keys) -> Keys:
        """The buffers with new keys in their slots; slots beyond the end are dropped."""

        def write(old: Array, values: Array) -> Array:
            examples = jax.numpy.arange(len(self.slots))[:, None]  # [B, 1], beside slots [B, L]
            entries = old.at[examples, self.slots]
            return entries.set(values, mode="drop")

        k, v, features = jax.tree.map(
            write,
            (self.keys.k, self.keys.v, self.keys.features),
            (new.k, new.v, new.features),
        )
        return Keys(k, v, features)
