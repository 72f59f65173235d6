"""RoPE-Mixed: every pair turns by a learned mixture of two axes of position.

Heo et al. 2024, "Rotary Position Embedding for Vision Transformer", https://arxiv.org/abs/2403.13298; the start
as init_random_2d_freqs in naver-ai/rope-vit at 04a2ad8, deit/models_v2_rope.py, which also keeps the frequencies
out of weight decay.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, of_axes, rotate


class MixedRoPE(AttentionEncoding):
    """Pair m of head h turns by x * fx[h, m] + y * fy[h, m], frequencies of each layer's own.

    Relative. Positions are [B|1, L, 2]. Angles are float32 products, off by 1e-3 at position 1e5. Pairs are
    neighbouring channels.

    The frequencies start as two crossed copies of a geometric series: those of the first half of the pairs point
    in a random direction of the plane, one a head, those of the second half across it.

    Args:
      base: of the geometric series that the frequencies start from, 10 in the paper's models.
    """

    relative = True
    cross = True
    shared = False
    num_axes = 2

    def __init__(self, *, base: float = 10.0, num_heads: int, head_dim: int, rngs: nnx.Rngs):
        if head_dim % 4:
            raise ValueError(f"MixedRoPE starts from two directions of equally many pairs, so 4 must divide the head width {head_dim}.")
        size = jnp.asarray(np.tile(base ** (-np.arange(0, head_dim, 4) / head_dim), 2), jnp.float32)[None]
        across = jnp.repeat(jnp.asarray([0.0, jnp.pi / 2]), head_dim // 4)[None]
        direction = jax.random.uniform(rngs.params(), (num_heads, 1), maxval=2 * jnp.pi) + across
        self.frequencies = nnx.Param(jnp.stack([size * jnp.cos(direction), size * jnp.sin(direction)]))  # [A, H, P]

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return rotate(q, self.angles(Q.positions)), rotate(k, self.angles(K.positions))

    def angles(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l h p"]:
        of_axes(positions, 2, "MixedRoPE")
        x, y = (positions[..., a, None, None].astype(jnp.float32) * self.frequencies[...][a][None, None] for a in range(2))
        return x + y
