"""Encodings with planted errors, for test_planted.py.

Configs name them as "tests.encodings.broken:Class".
"""

import dataclasses

import jax.numpy as jnp
from flax import nnx

from pe_lab.encodings.base import AttentionEncoding, InputEncoding, relative
from pe_lab.encodings.learned import Learned
from pe_lab.encodings.ops import rotate
from pe_lab.encodings.requirements import Requirements
from pe_lab.encodings.rope import RoPE

_CACHE: dict = {}


class CachedWithoutItsBase(RoPE):
    """The table of angles is cached under its size, and forgets the base."""

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.frequencies = _CACHE.setdefault(self.rotated, self.frequencies)


class ScalesAngles(RoPE):
    """Angles without their whole turns are scaled by a factor of each head."""

    def rotate(self, x, tokens, lengths=None):
        factor = 1 + 0.3 * jnp.arange(x.shape[2])
        angle = self.angles(tokens.positions)[:, :, None] * factor[None, None, :, None]
        return rotate(x, angle, self.layout)


class ClampingGather(Learned):
    """A position beyond the table gets its last row."""

    def __init__(self, *, max_positions: int = 8, **rest):
        super().__init__(max_positions=max_positions, **rest)

    def embed(self, positions):
        return self.table[...][jnp.minimum(positions, self.requirements.max_positions - 1)]


class CountsFromTheEnd(Learned):
    """A negative position gets a row, counted from the end of the table."""

    def __init__(self, *, max_positions: int = 8, **rest):
        super().__init__(max_positions=max_positions, **rest)

    def embed(self, positions):
        num_rows = self.requirements.max_positions
        rows = self.table[...][positions % num_rows]
        return jnp.where((positions < num_rows)[..., None], rows, jnp.nan)


class ReadsTheFirstRow(RoPE):
    """Every example has the positions of the first one."""

    def angles(self, positions, lengths=None):
        return super().angles(positions[:1])


class LogOfPositions(InputEncoding):
    """The logarithm of a position, which is no number where positions are negative."""

    def __init__(self, *, width: int, **rest):
        super().__init__(width, width=width, **rest)

    def embed(self, positions):
        logarithm = jnp.log1p(positions.astype(jnp.float32))[..., None]
        return logarithm * jnp.arange(self.width)[None, None]


class ReadsIndices(InputEncoding):
    """The code of the place in the array, whatever the positions."""

    def __init__(self, *, width: int, **rest):
        super().__init__(width, width=width, **rest)

    def embed(self, positions):
        index = jnp.arange(positions.shape[1], dtype=jnp.float32)[None, :, None]
        return jnp.sin(index * jnp.arange(1, self.width + 1)[None, None])


class LeaksPadding(AttentionEncoding):
    """A bias that shrinks with the padded length."""

    requirements = Requirements(relative=True)

    def bias(self, Q, K):
        distance = jnp.abs(K.positions[:, None] - Q.positions[:, :, None]).astype(jnp.float32)
        return -distance[:, None] / Q.positions.shape[1]


class LeaksTheFuture(AttentionEncoding):
    """A bias from the mean of all keys' features, later ones included."""

    requirements = Requirements(relative=True, reads_positions=False)

    def features(self, x, positions):
        return None, x

    def content_bias(self, q, k, Q, K):
        mean = K.features.mean(axis=(1, 2))[:, None, None, None]
        return (
            mean
            * jnp.ones((1, q.shape[2], 1, 1))
            * Q.slots[:, None, :, None]
            * K.slots[:, None, None, :].astype(jnp.float32)
        )


class CountsQueries(AttentionEncoding):
    """A bias of array indices: right in a full forward pass, wrong for one query with a cache."""

    requirements = Requirements(relative=True)

    def bias(self, Q, K):
        places = [jnp.arange(tokens.positions.shape[1], dtype=jnp.float32) for tokens in (Q, K)]
        return -jnp.abs(places[0][:, None] - places[1][None])[None, None]


class StartsQueriesAtZero(AttentionEncoding):
    """A bias of distances from queries at 0, 1, 2, …: right for one context without a cache."""

    requirements = Requirements(relative=True)

    def bias(self, Q, K):
        queries = jnp.arange(Q.positions.shape[1])
        distance = K.positions[:, None] - queries[None, :, None]
        return jnp.sin(distance[:, None].astype(jnp.float32))


class IgnoresSegments(AttentionEncoding):
    """Each logit less the mean of the earlier ones, those of other segments included."""

    requirements = Requirements(relative=True, reads_positions=False, replaces=("logits",))

    def transform_logits(self, s, q, k, Q, K, mask):
        earlier = (K.slots[:, None] <= Q.slots[..., None])[:, None]
        mean = jnp.where(earlier, s, 0).sum(-1, keepdims=True) / earlier.sum(-1, keepdims=True)
        return s * jnp.exp(jnp.tanh(mean))


class ReadsPlaces(AttentionEncoding):
    """A bias of the position of the key, in a class that says that it is relative."""

    requirements = Requirements(relative=True)

    def bias(self, Q, K):
        distance = (Q.positions[:, :, None] - K.positions[:, None]).astype(jnp.float32)
        return jnp.sin(K.positions.astype(jnp.float32))[:, None, None] + 0.1 * distance[:, None]


class LogarithmOfTheFuture(AttentionEncoding):
    """A learned slope times the logarithm of a distance, which is negative for later tokens."""

    requirements = Requirements(relative=True, only_bias=True, bidirectional=False)

    def __init__(self, *, num_heads: int):
        self.slope = nnx.Param(jnp.ones((num_heads,)))

    def bias(self, Q, K):
        distance = -relative(Q, K).astype(jnp.float32)[:, None]
        return -self.slope[...][None, :, None, None] * jnp.log1p(distance)


class RaisesInItsBias(AttentionEncoding):
    """A bias with a mistake in its code."""

    requirements = Requirements(relative=True)

    def bias(self, Q, K):
        return Q.position - K.position


class ReadsOneStream(RoPE):
    """In cross-attention keys have the positions of the queries' stream."""

    def transform_qk(self, q, k, Q, K):
        first = Q.positions[:, :1] - K.positions[:, :1]
        return self.rotate(q, Q), self.rotate(
            k, dataclasses.replace(K, positions=K.positions + first)
        )


class SeesOrderWithoutPositions(AttentionEncoding):
    """A mask of slots, in a class that says that it reads no positions."""

    requirements = Requirements(relative=True, reads_positions=False)

    def mask(self, Q, K):
        return (K.slots[:, None, :] <= Q.slots[:, :, None])[:, None]
