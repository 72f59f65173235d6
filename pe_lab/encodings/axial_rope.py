"""Axial RoPE: positions of several axes, each of which turns its own share of the pairs.

Heo et al. 2024, "Rotary Position Embedding for Vision Transformer", https://arxiv.org/abs/2403.13298
(RoPE-Axial); as compute_axial_cis in naver-ai/rope-vit at 04a2ad8, deit/models_v2_rope.py, which gives the
first half of the pairs to x and the second to y.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, angles, of_axes, rotate


class AxialRoPE(AttentionEncoding):
    """The n = Dh / 2A pairs of axis a turn by p_a * base^(-k / n), k = 0..n-1; the axes follow one another.

    Relative along each axis. Positions are [B|1, L, A]; right to 1e-6 below position 2^24. Pairs are neighbouring
    channels.

    Args:
      num_axes: A; the paper has 2.
      base: of the geometric series of wavelengths of each axis, 100 in the paper's models.
    """

    relative = True
    cross = True
    num_axes = 2

    def __init__(self, *, num_axes: int = 2, base: float = 100.0, head_dim: int):
        if num_axes < 2:
            raise ValueError(f"AxialRoPE reads positions of two axes or more, got num_axes={num_axes}; of one, take RoPE.")
        if head_dim % (2 * num_axes):
            raise ValueError(
                f"AxialRoPE gives its {num_axes} axes equally many pairs, so 2 * {num_axes} must divide the head width {head_dim}."
            )
        pairs = head_dim // 2 // num_axes
        self.num_axes, self.frequencies = num_axes, tuple((base ** (-np.arange(pairs) / pairs)).tolist())

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return rotate(q, self.angles(Q.positions)[:, :, None]), rotate(k, self.angles(K.positions)[:, :, None])

    def angles(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l p"]:
        of_axes(positions, self.num_axes, "AxialRoPE")
        return jnp.concatenate([angles(positions[..., a], self.frequencies) for a in range(self.num_axes)], axis=-1)
