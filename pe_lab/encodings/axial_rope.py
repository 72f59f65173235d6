"""Axial RoPE: positions have several axes, and each axis rotates its own share of the pairs.

Equation: RoPE, with a share of the pairs for each axis.
Beyond training: unseen angles.

Heo et al. 2024, "Rotary Position Embedding for Vision Transformer",
https://arxiv.org/abs/2403.13298 (RoPE-Axial).

It follows compute_axial_cis in naver-ai/rope-vit at 04a2ad8, deit/models_v2_rope.py, which gives
the first half of the pairs to x and the second half to y.
"""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import angles, check_axes, check_positive, rotate
from pe_lab.encodings.requirements import Requirements


class AxialRoPE(AttentionEncoding):
    """The n = Dh / 2A pairs of axis a rotate by p_a * base^(-k / n), k = 0..n-1.

    The pairs of the first axis come first. Relative along each axis. Positions are [B|1, L, A], and
    angles are exact to 1e-6 below position 2^24. Pairs are neighboring channels.

    Args:
      num_axes: A; the paper has 2.
      base: base of the geometric series of wavelengths of each axis, 100 in the paper's models.
    """

    requirements = Requirements(relative=True, num_axes=2, cross=True)

    def __init__(
        self,
        *,
        num_axes: int = 2,
        base: float = 100.0,
        head_dim: int,
        rngs: nnx.Rngs | None = None,
    ):
        if num_axes < 2:
            raise ValueError(
                f"AxialRoPE reads positions of two axes or more, got num_axes={num_axes}; of one, "
                f"take RoPE."
            )
        if head_dim % (2 * num_axes):
            raise ValueError(
                f"AxialRoPE gives its {num_axes} axes equally many pairs, so 2 * {num_axes} must "
                f"divide the head width {head_dim}."
            )
        check_positive("AxialRoPE", base=base)
        pairs = head_dim // 2 // num_axes
        exponents = -np.arange(pairs) / pairs
        frequencies = base**exponents
        self.head_dim = head_dim
        self.num_axes = num_axes
        # Python's floats have 64 bits, which the exact `angles` needs.
        self.frequencies = tuple(frequencies.tolist())
        self.require(num_axes=num_axes)

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        query_angles = self.angles(Q.positions)[:, :, None]  # all heads rotate by one angle
        key_angles = self.angles(K.positions)[:, :, None]
        q = rotate(q, query_angles)
        k = rotate(k, key_angles)
        return q, k

    def angles(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l p"]:
        """The angles of all axes, one axis after the other."""
        check_axes(positions, self.num_axes, "AxialRoPE")
        by_axis = []
        for axis in range(self.num_axes):
            on_axis = positions[..., axis]
            by_axis.append(angles(on_axis, self.frequencies))
        return jnp.concatenate(by_axis, axis=-1)
