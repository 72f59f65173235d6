"""Transformer-XL: queries times a projected sinusoid of the distance, and two learned biases.

Equation: (q+u)·k + (q+v)·W_R R(i−j).
Beyond training: defined, unseen.

Dai et al. 2019, "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context", section
3.3, https://arxiv.org/abs/1901.02860.

Differs from the authors' code (kimiyoung/transformer-xl, pytorch/mem_transformer.py), in which all
layers share u and v and each layer has its own W_R. Here each layer has its own u, v and W_R, and
share=True shares all three among all layers. The sinusoid has no dropout, and the distance has no
upper limit (clamp_len). u and v are initialized as in that code, and W_R like the backbone's
matrices.
"""

import math

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.ops import angles, check_positive
from pe_lab.encodings.requirements import Requirements


class TransformerXL(AttentionEncoding):
    """logits = ((q + u)·k + (q + v)·W_R R(i - j)) / sqrt(Dh).

    R is the sinusoid of the distance with D channels. Relative, on both sides. Every distance has a
    sinusoid, but W_R is not trained on those beyond the training length.

    Args:
      base: base of the sinusoid's geometric series of wavelengths, 10000 in the authors' code.
    """

    requirements = Requirements(relative=True, cross=True, per_layer=True)

    def __init__(
        self,
        *,
        base: float = 10000.0,
        width: int,
        num_heads: int,
        head_dim: int,
        bidirectional: bool = False,
        rngs: nnx.Rngs,
    ):
        if width % 2:
            raise ValueError(
                "TransformerXL's sinusoid has pairs of channels, so the width must be even, "
                f"got {width}."
            )
        check_positive("TransformerXL", base=base)
        normal = nnx.initializers.normal(0.02)
        lecun_normal = nnx.initializers.lecun_normal(in_axis=0, out_axis=(1, 2))
        self.head_dim = head_dim
        self.two_sided = bidirectional
        channels = range(0, width, 2)
        self.frequencies = tuple(base ** (-k / width) for k in channels)
        # Another order of the draws would give other initial values to published runs.
        u = normal(rngs.params(), (num_heads, head_dim), jnp.float32)
        v = normal(rngs.params(), (num_heads, head_dim), jnp.float32)
        W_R = lecun_normal(rngs.params(), (width, num_heads, head_dim), jnp.float32)
        self.query_bias = nnx.Param(u)
        self.position_bias = nnx.Param(v)
        self.projection = nnx.Param(W_R)

    def sinusoid(self, distances: Num[Array, "*p"]) -> Float[Array, "*p d"]:
        """R: the sines of all frequencies, then their cosines."""
        phases = angles(distances, self.frequencies)
        sines = jnp.sin(phases)
        cosines = jnp.cos(phases)
        return jnp.concatenate([sines, cosines], axis=-1)

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        # (q + u)·k is the ordinary product of changed queries.
        u = self.query_bias[...][None, None]
        q_plus_u = q + u
        return q_plus_u.astype(q.dtype), k

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        """(q + v)·W_R R(i - j) / sqrt(Dh), the second term of the logits."""
        v = self.position_bias[...][None, None]
        scale = math.sqrt(q.shape[-1])
        q = (q + v) / scale
        distance = -relative(Q, K)
        # The reference form. kernels/encodings/transformer_xl.py has no sinusoid for each pair.
        R = self.sinusoid(distance)  # [B|1, L, S, D]
        W_R = self.projection[...]
        position_keys = jnp.einsum("blsd,dhe->blshe", R, W_R)
        shape = (len(q), *position_keys.shape[1:])  # one row of positions serves all examples
        position_keys = jnp.broadcast_to(position_keys, shape)
        return jnp.einsum("blhe,blshe->bhls", q, position_keys)
