"""Relative logits: each query mixes a few learned profiles of the distance into a bias of its own.

No paper: this is the position encoding of Inkling (Thinking Machines), read in Hugging Face's transformers,
models/inkling/modeling_inkling.py, InklingRelativeLogits.

Differs from it in what stands around it: there, on layers without a window, queries and this bias are also
multiplied by a temperature that grows with the position; that is no part of the encoding and is left out. On layers
with a window its extent is the window's. W_r starts as the backbone's matrices.
"""

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative, skew


class RelativeLogits(AttentionEncoding):
    """bias_ij = (W_r x_i)·P[:, i - j] for 0 <= i - j < extent, else 0; W_r x of each head, the profiles P of all.

    Relative. Nothing is added at distances of extent and more. Causal, as there: the future has no profile.

    Args:
      extent: distances 0..extent-1 have a bias; 1024 in Inkling.
      num_profiles: columns that a head mixes, 16 in Inkling (d_rel).
    """

    relative = True
    bidirectional = False
    real_positions = False
    shared = False

    def __init__(self, *, extent: int = 1024, num_profiles: int = 16, width: int, num_heads: int, rngs: nnx.Rngs):
        if extent < 1 or num_profiles < 1:
            raise ValueError(f"RelativeLogits needs an extent and num_profiles of at least 1, got {extent} and {num_profiles}.")
        mixture = nnx.initializers.lecun_normal(in_axis=0, out_axis=(1, 2))
        self.extent = extent
        self.mixture = nnx.Param(mixture(rngs.params(), (width, num_heads, num_profiles)))  # W_r
        self.profiles = nnx.Param(nnx.initializers.normal(0.02)(rngs.params(), (num_profiles, extent)))  # P

    def features(self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]) -> tuple[Float[Array, "b l h c"], None]:
        return jnp.einsum("bld,dhc->blhc", x.astype(jnp.float32), self.mixture[...]), None

    def bias(self, Q: Tokens, K: Tokens) -> Float[Array, "b h l s"]:
        mixed, profiles = Q.features, self.profiles[...]
        if Q.arange and K.arange:
            queries, keys = mixed.shape[1], K.positions.shape[1]
            distances = jnp.arange(queries)[::-1]
            seen = jnp.where(distances[None] < self.extent, jnp.take(profiles, jnp.minimum(distances, self.extent - 1), axis=1), 0)
            seen = jnp.broadcast_to(seen, (len(mixed), mixed.shape[2], *seen.shape))  # a product by example and head is faster on a CPU
            return skew(jnp.einsum("blhc,bhco->bhlo", mixed, seen), keys)
        distances = -relative(Q, K)[:, None]
        inside = (distances >= 0) & (distances < self.extent)
        by_distance = jnp.einsum("blhc,co->bhlo", mixed, profiles)
        index = jnp.broadcast_to(jnp.where(inside, distances, 0), (*by_distance.shape[:3], distances.shape[-1]))
        return jnp.where(inside, jnp.take_along_axis(by_distance, index, axis=-1), 0)
