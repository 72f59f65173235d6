"""RoPE-Mixed: every pair rotates by a learned mixture of two axes of the position.

Equation: pair m of head h rotates by x·f_x + y·f_y, learned.
Beyond training: unseen angles.

Heo et al. 2024, "Rotary Position Embedding for Vision Transformer",
https://arxiv.org/abs/2403.13298. The initialization is init_random_2d_freqs in naver-ai/rope-vit at
04a2ad8, deit/models_v2_rope.py, which also excludes the frequencies from weight decay.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import check_axes, check_positive, rotate
from pe_lab.encodings.requirements import Requirements


class MixedRoPE(AttentionEncoding):
    """Pair m of head h rotates by x * fx[h, m] + y * fy[h, m]; each layer has its own frequencies.

    Relative. Positions are [B|1, L, 2]. Angles are float32 products, with an error of 1e-3 at
    position 1e5. Pairs are neighboring channels.

    The frequencies are initialized as two copies of a geometric series. The copy of the first
    half of the pairs points in a random direction of the plane, one for each head. The copy of the
    second half is perpendicular to it.

    Args:
      base: base of the geometric series of the initial frequencies, 10 in the paper's models.
    """

    requirements = Requirements(relative=True, num_axes=2, cross=True, per_layer=True)

    def __init__(self, *, base: float = 10.0, num_heads: int, head_dim: int, rngs: nnx.Rngs):
        if head_dim % 4:
            raise ValueError(
                f"MixedRoPE starts from two directions of equally many pairs, so 4 must divide "
                f"the head width {head_dim}."
            )
        check_positive("MixedRoPE", base=base)
        self.head_dim = head_dim
        half = head_dim // 4  # pairs in each of the two directions
        exponents = -np.arange(0, head_dim, 4) / head_dim
        series = base**exponents
        two_copies = np.tile(series, 2)
        size = jnp.asarray(two_copies, jnp.float32)[None]  # [1, P]
        # The second copy is perpendicular to the first one.
        angle_of_copy = jnp.asarray([0.0, jnp.pi / 2], jnp.float32)
        angle_of_pair = jnp.repeat(angle_of_copy, half)[None]
        whole_turn = 2 * jnp.pi
        angle_of_head = jax.random.uniform(
            rngs.params(), (num_heads, 1), jnp.float32, maxval=whole_turn
        )
        direction = angle_of_head + angle_of_pair  # [H, P]
        fx = size * jnp.cos(direction)
        fy = size * jnp.sin(direction)
        frequencies = jnp.stack([fx, fy])  # [A, H, P]
        self.frequencies = nnx.Param(frequencies)

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        q = rotate(q, self.angles(Q.positions))
        k = rotate(k, self.angles(K.positions))
        return q, k

    def angles(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l h p"]:
        check_axes(positions, 2, "MixedRoPE")
        frequencies = self.frequencies[...]
        fx = frequencies[0][None, None]  # [1, 1, H, P]
        fy = frequencies[1][None, None]
        # Plain products: `ops.angles` is exact, but its frequencies are constants.
        x = positions[..., 0, None, None].astype(jnp.float32)
        y = positions[..., 1, None, None].astype(jnp.float32)
        return x * fx + y * fy
