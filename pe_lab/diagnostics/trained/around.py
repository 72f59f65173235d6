"""Encodings inside of others: to look at a model, or to switch an encoding off, after it is merged and without a line in it.

A stack holds its encodings once and a map from layers to them, so what is put around one on one layer is one more
entry of that list: nothing of training knows of it.
"""

from collections.abc import Callable

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool

from pe_lab.encodings.base import TRAITS, AttentionEncoding, InputEncoding, masked_softmax
from pe_lab.transformer.transformer import Stack

Wrap = Callable[[bool, int, list[AttentionEncoding]], list[AttentionEncoding]]


class Around(AttentionEncoding):
    """The inner encoding; subclasses have hooks of their own."""

    def __init__(self, inner: AttentionEncoding):
        self.inner = inner
        for trait in TRAITS:
            setattr(self, trait, getattr(inner, trait))

    def features(self, x, positions):
        return self.inner.features(x, positions)

    def qk(self, q, k, Q, K):
        return self.inner.qk(q, k, Q, K)

    def is_kernel(self, Q, K):
        return False  # a bias is always asked for as a whole

    def bias(self, Q, K):
        return self.inner.bias(Q, K)

    def mask(self, Q, K):
        return self.inner.mask(Q, K)

    def scores(self, s, q, k, Q, K, mask):
        return self.inner.scores(s, q, k, Q, K, mask)

    def weights(self, s, mask):
        return self.inner.weights(s, mask)

    def mix(self, w, v, Q, K):
        return self.inner.mix(w, v, Q, K)

    def acts_in(self, hook):
        return self.inner.acts_in(hook)


class Without(Around):
    """The inner encoding on some heads, and nothing on the others.

    Args:
      off: [H], True where nothing acts; may be traced.
    """

    def __init__(self, inner: AttentionEncoding, off: Bool[Array, "h"]):
        super().__init__(inner)
        self.off = off

    def qk(self, q, k, Q, K):
        own = super().qk(q, k, Q, K)
        wider = own[0].shape[-1] - q.shape[-1]  # with zeros behind, products stay what they were
        plain = (jnp.pad(side, ((0, 0), (0, 0), (0, 0), (0, wider))) for side in (q, k))
        return tuple(jnp.where(self.off[None, None, :, None], p, o) for p, o in zip(plain, own, strict=True))

    def bias(self, Q, K):
        return None if (own := super().bias(Q, K)) is None else jnp.where(self._heads, 0, own)

    def mask(self, Q, K):
        return None if (own := super().mask(Q, K)) is None else self._heads | own

    def scores(self, s, q, k, Q, K, mask):
        return jnp.where(self._heads, s, super().scores(s, q, k, Q, K, mask))

    def weights(self, s, mask):
        return jnp.where(self._heads, masked_softmax(s, mask), super().weights(s, mask))

    def mix(self, w, v, Q, K):
        return jnp.where(self.off[None, None, :, None], AttentionEncoding.mix(self, w, v, Q, K), super().mix(w, v, Q, K))

    @property
    def _heads(self) -> Bool[Array, "1 h 1 1"]:
        return self.off[None, :, None, None]


class WithoutInput(InputEncoding):
    """The inner encoding at the input, or nothing.

    Args:
      off: whether nothing acts; may be traced.
    """

    def __init__(self, inner: InputEncoding, off: Bool[Array, ""]):
        self.inner, self.off = inner, off

    def __call__(self, x, positions):
        return jnp.where(self.off, x, self.inner(x, positions))


def put_around(stack: Stack, wrap: Wrap) -> None:
    """Gives every layer of a merged stack encodings of its own.

    Args:
      wrap: (across two streams, layer, the encodings there) -> the encodings in their place.
    """
    found = list(stack.attention_encodings)

    def added(across: bool, which: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        layers = []
        for layer, indices in enumerate(which):
            new = wrap(across, layer, [stack.attention_encodings[i] for i in indices])
            layers.append(tuple(range(len(found), len(found) + len(new))))
            found.extend(new)
        return tuple(layers)

    stack.layer_encodings, stack.cross_encodings = added(False, stack.layer_encodings), added(True, stack.cross_encodings)
    stack.attention_encodings = nnx.List(found)
