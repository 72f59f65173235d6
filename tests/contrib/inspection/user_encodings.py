"""Encodings as a user may write them, for the diagnostics alone; named in configs as
"tests.contrib.inspection.user_encodings:Class".
"""

import jax
import jax.numpy as jnp
from flax import nnx

from pe_lab.encodings.base import AttentionEncoding, InputEncoding, OffsetBias, relative
from pe_lab.encodings.ops import angles, rotate
from pe_lab.encodings.requirements import Requirements


class Parity(InputEncoding):
    """Even or odd: two embeddings for all positions."""

    def __init__(self, *, width: int, **rest):
        super().__init__(1, width=width, **rest)

    def embed(self, positions):
        return (positions % 2).astype(jnp.float32)[..., None]


class TurnsHalf(AttentionEncoding):
    """A rotation of the first pair alone, a quarter turn a position, in a layout of its own."""

    requirements = Requirements(relative=True)

    def transform_qk(self, q, k, Q, K):
        return self._turned(q, Q), self._turned(k, K)

    def _turned(self, x, tokens):
        return rotate(x, angles(tokens.positions, [jnp.pi / 2])[:, :, None], "half")


class BaseOfEachHead(AttentionEncoding):
    """A rotation whose base is 100 in the first head, 1,000 in the second, and so on."""

    requirements = Requirements(relative=True)

    def __init__(self, *, num_heads: int, head_dim: int, **rest):
        super().__init__()
        bases = 10.0 ** (2 + jnp.arange(num_heads))
        exponents = -2 * jnp.arange(head_dim // 2) / head_dim
        self.frequencies = bases[:, None] ** exponents[None]

    def transform_qk(self, q, k, Q, K):
        return self._turned(q, Q), self._turned(k, K)

    def _turned(self, x, tokens):
        return rotate(x, tokens.positions[:, :, None, None] * self.frequencies[None, None], "half")


class LastOfATable(OffsetBias):
    """A learned bias for each distance, of which training at a length reaches as many."""

    def __init__(self, *, num_heads: int, rngs: nnx.Rngs):
        self.table = nnx.Param(jax.random.normal(rngs.params(), (num_heads, 32)))

    def of_offset(self, offset):
        return jnp.take(self.table[...], jnp.minimum(jnp.abs(offset), 31), axis=1)


class ShortTable(LastOfATable):
    """As before, with positions up to 31 alone."""

    requirements = Requirements(max_positions=32)


class MixesAlone(AttentionEncoding):
    """Reads positions, and changes no logits."""

    requirements = Requirements(replaces=("combine",))

    def combine(self, w, v, Q, K):
        return super().combine(w, v * (1 + K.positions[..., None, None]), Q, K)


class NotANumber(Parity):
    """No number at position 3."""

    def embed(self, positions):
        return jnp.where(positions == 3, jnp.nan, super().embed(positions)[..., 0])[..., None]


class Careless(Parity):
    """Its embedding cannot be computed."""

    def embed(self, positions):
        return positions @ positions


class LooksBack(AttentionEncoding):
    """Every query looks so many positions back, and nowhere else where it can."""

    requirements = Requirements(relative=True, cross=True)

    def __init__(self, *, back: int):
        self.back = back

    def bias(self, Q, K):
        return jnp.where(relative(Q, K) == -self.back, 1e4, 0.0)[:, None]
