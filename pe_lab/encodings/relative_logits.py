"""Relative logits: each query's bias is a mixture of a few learned profiles of the distance.

Equation: (W_r x_i · P)[i − j].
Beyond training: 0 beyond the extent.

No paper: this is the position encoding of Inkling (Thinking Machines), read from Hugging Face's
transformers, models/inkling/modeling_inkling.py, InklingRelativeLogits.

Inkling also multiplies queries and this bias by a temperature that grows with the position, on
layers without a window. The temperature is no part of the encoding and is left out. On Inkling's
layers with a window, the extent is the window's. W_r is initialized like the backbone's
matrices.
"""

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.ops import take_rows
from pe_lab.encodings.requirements import Requirements


class RelativeLogits(AttentionEncoding):
    """bias_ij = (W_r x_i)·P[:, i - j] for 0 <= i - j < extent, else 0.

    Each head has its own mixture W_r x, and all heads share the profiles P. Relative. Causal, as in
    Inkling: the future has no profile.

    Args:
      extent: distances 0..extent-1 have a bias; 1024 in Inkling.
      num_profiles: profiles that a head mixes, 16 in Inkling (d_rel).
    """

    requirements = Requirements(
        only_bias=True, relative=True, whole_positions=True, bidirectional=False, per_layer=True
    )

    def __init__(
        self,
        *,
        extent: int = 1024,
        num_profiles: int = 16,
        width: int,
        num_heads: int,
        rngs: nnx.Rngs,
    ):
        if extent < 1 or num_profiles < 1:
            raise ValueError(
                f"RelativeLogits needs an extent and num_profiles of at least 1, got {extent} and "
                f"{num_profiles}."
            )
        # The fan-in is D; the other two axes together are the outputs.
        lecun_normal = nnx.initializers.lecun_normal(in_axis=0, out_axis=(1, 2))
        mixture = lecun_normal(rngs.params(), (width, num_heads, num_profiles), jnp.float32)
        normal = nnx.initializers.normal(0.02)
        profiles = normal(rngs.params(), (num_profiles, extent), jnp.float32)
        self.extent = extent
        self.mixture = nnx.Param(mixture)  # W_r
        self.profiles = nnx.Param(profiles)  # P

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[Float[Array, "b l h c"], None]:
        """The mixture of each query's heads, and nothing for keys."""
        x = x.astype(jnp.float32)
        mixture = jnp.einsum("bld,dhc->blhc", x, self.mixture[...])
        return mixture, None

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        """(W_r x_i)·P[:, i - j] for distances below the extent, else 0."""
        distance = -relative(Q, K)[:, None]
        inside = (distance >= 0) & (distance < self.extent)
        by_distance = jnp.einsum("blhc,co->bhlo", Q.features, self.profiles[...])
        safe_distance = jnp.where(inside, distance, 0)  # an index that the `where` below replaces
        by_key = take_rows(by_distance, safe_distance)
        return jnp.where(inside, by_key, 0)
