"""Transformer-XL: queries also meet a projected sinusoid of the distance, and two learned biases stand in for them.

Dai et al. 2019, "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context", section 3.3,
https://arxiv.org/abs/1901.02860.

Differs from the authors' code (kimiyoung/transformer-xl, pytorch/mem_transformer.py): there u and v are one pair
for the whole model and W_R is one a layer; here each layer has its own, and all layers share all three with
share=True. The sinusoid has no dropout and the distance no upper limit (clamp_len). u and v start as there;
W_R starts as the backbone's matrices.
"""

import math

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, angles, rotate, skew


class TransformerXL(AttentionEncoding):
    """logits = ((q + u)·k + (q + v)·W_R R(i - j)) / sqrt(Dh), R the sinusoid of the distance, D channels wide.

    Relative, to both sides. Every distance has a code; those beyond the training length are new to W_R.

    Where positions are one arange, its distances are projected once; elsewhere the sine of a difference is taken apart,
    (q + v)·W_R R(i - j) = (W_R' (q + v) turned by i)·R(-j), which multiplies D channels a head instead of Dh.

    Args:
      base: of the sinusoid's geometric series of wavelengths, 10000 in the authors' code.
    """

    relative = True
    cross = True
    shared = False
    adds_scores = True

    def __init__(self, *, base: float = 10000.0, width: int, num_heads: int, head_dim: int, bidirectional: bool = False, rngs: nnx.Rngs):
        if width % 2:
            raise ValueError(f"TransformerXL's sinusoid has pairs of channels, so the width must be even, got {width}.")
        bias_start, start = nnx.initializers.normal(0.02), nnx.initializers.lecun_normal(in_axis=0, out_axis=(1, 2))
        self.two_sided = bidirectional
        self.frequencies = tuple(base ** (-k / width) for k in range(0, width, 2))
        self.content_bias = nnx.Param(bias_start(rngs.params(), (num_heads, head_dim)))  # u
        self.position_bias = nnx.Param(bias_start(rngs.params(), (num_heads, head_dim)))  # v
        self.projection = nnx.Param(start(rngs.params(), (width, num_heads, head_dim)))  # W_R

    def code(self, distances: Num[Array, "*p"]) -> Float[Array, "*p d"]:
        """R: the sines of all frequencies, then the cosines."""
        phases = angles(distances, self.frequencies)
        return jnp.concatenate([jnp.sin(phases), jnp.cos(phases)], axis=-1)

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return (q + self.content_bias[...][None, None]).astype(q.dtype), k

    def scores(
        self, s: Float[Array, "b h l s"], q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens, mask
    ) -> Float[Array, "b h l s"]:
        q, projection = (q + self.position_bias[...][None, None]) / math.sqrt(q.shape[-1]), self.projection[...]
        if Q.arange and K.arange:
            queries, keys = s.shape[2:]
            offsets = jnp.arange(1 - queries, keys if self.two_sided else 1)  # the future is masked where attention is causal
            projected = jnp.einsum("od,dhe->ohe", self.code(-offsets), projection)
            projected = jnp.broadcast_to(projected, (len(q), *projected.shape))  # a product by example is twice as fast on a CPU
            return s + skew(jnp.einsum("blhe,bohe->bhlo", q, projected), keys)
        turned = rotate(jnp.einsum("blhe,dhe->blhd", q, projection), angles(Q.positions, self.frequencies)[:, :, None], "half")
        return s + jnp.einsum("blhd,bsd->bhls", turned, self.code(-K.positions))
