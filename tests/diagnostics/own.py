"""Encodings as a user may write them, for the diagnostics alone; named in configs as "tests.diagnostics.own:Class"."""

import jax
import jax.numpy as jnp
from flax import nnx

from pe_lab.encodings.base import AttentionEncoding, InputEncoding, angles, relative, rotate


class Parity(InputEncoding):
    """Even or odd: two codes for all positions."""

    def __init__(self, *, width: int, **rest):
        super().__init__(1, width=width, **rest)

    def code(self, positions):
        return (positions % 2).astype(jnp.float32)[..., None]


class TurnsHalf(AttentionEncoding):
    """A rotation of the first pair alone, a quarter of a turn a position, in a layout of its own."""

    relative = True

    def qk(self, q, k, Q, K):
        return self._turned(q, Q), self._turned(k, K)

    def _turned(self, x, tokens):
        return rotate(x, angles(tokens.positions, [jnp.pi / 2])[:, :, None], "half")


class LastOfATable(AttentionEncoding):
    """A learned bias for each distance, of which training at a length reaches as many."""

    relative = True

    def __init__(self, *, num_heads: int, rngs: nnx.Rngs):
        self.table = nnx.Param(jax.random.normal(rngs.params(), (num_heads, 32)))

    def kernel(self, offsets):
        return jnp.take(self.table[...], jnp.minimum(jnp.abs(offsets), 31), axis=1)


class MixesAlone(AttentionEncoding):
    """Reads positions, and changes no logits."""

    def mix(self, w, v, Q, K):
        return super().mix(w, v * (1 + K.positions[..., None, None]), Q, K)


class NotANumber(Parity):
    """No number at position 3."""

    def code(self, positions):
        return jnp.where(positions == 3, jnp.nan, super().code(positions)[..., 0])[..., None]


class Careless(Parity):
    """Its code cannot be computed."""

    def code(self, positions):
        return positions @ positions


class LooksBack(AttentionEncoding):
    """Every query looks so many positions back, and nowhere else where it can."""

    relative = cross = True

    def __init__(self, *, back: int):
        self.back = back

    def bias(self, Q, K):
        return jnp.where(relative(Q, K) == -self.back, 1e4, 0.0)[:, None]
