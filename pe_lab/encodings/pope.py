"""PoPE: polar coordinates, with magnitudes from the content and angles from the position.

Equation: Σ softplus(q_c) softplus(k_c) cos((j−i)θ_c + δ_c).
Beyond training: unseen angles.

Gopalakrishnan et al. 2025, "Decoupling the 'What' and 'Where' With Polar Coordinate Positional
Embeddings", https://arxiv.org/abs/2509.10534. It follows lucidrains/PoPE-pytorch at 2b91cde,
PoPE_pytorch/pope.py, with its two initializations of delta, 0 or uniform.
"""

import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import angles, check_positive
from pe_lab.encodings.requirements import Requirements

_LEAST_DELTA = -2 * math.pi


class PoPE(AttentionEncoding):
    """logits = sum_c softplus(q_c) softplus(k_c) cos((p' - p) theta_c + delta_c) / sqrt(Dh).

    theta_c = base^(-c / Dh). Relative. Each channel has a frequency, twice as many as RoPE's, and
    queries and keys become 2 Dh wide. delta is learned for each head and channel and clipped to [-2
    pi, 0]; values outside get no gradient. All layers share one delta unless share=False. Angles
    are exact to 1e-6 below position 2^24.

    Args:
      base: base of the geometric series of wavelengths, 10000 in the paper.
      start: initialization of delta: 0, or uniform in its range.
    """

    requirements = Requirements(relative=True, cross=True, widens_qk=True)

    def __init__(
        self,
        *,
        base: float = 10000.0,
        start: Literal["zero", "uniform"] = "zero",
        num_heads: int,
        head_dim: int,
        rngs: nnx.Rngs,
    ):
        check_positive("PoPE", base=base)
        self.head_dim = head_dim
        exponents = -np.arange(head_dim) / head_dim
        frequencies = base**exponents
        # Python's floats have 64 bits, which the exact `angles` needs.
        self.frequencies = tuple(frequencies.tolist())
        shape = (num_heads, head_dim)
        # It is drawn for both starts, so that later parameters have the same keys.
        uniform = jax.random.uniform(
            rngs.params(), shape, jnp.float32, minval=_LEAST_DELTA, maxval=0.0
        )
        delta = uniform if start == "uniform" else jnp.zeros(shape, jnp.float32)
        self.delta = nnx.Param(delta)

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h f"], Float[Array, "b s h f"]]:
        raw = self.delta[...]
        # jnp.clip would halve the gradient at the initial value 0.
        delta = jnp.maximum(raw, _LEAST_DELTA)
        delta = jnp.where(raw > 0, 0.0, delta)
        query_angles = angles(Q.positions, self.frequencies)[:, :, None]  # [B|1, L, 1, Dh]
        key_angles = angles(K.positions, self.frequencies)[:, :, None]
        q = _polar(q, query_angles)
        k = _polar(k, key_angles + delta[None, None])
        return q, k


def _polar(x: Float[Array, "b l h e"], angle: Float[Array, "#b l #h e"]) -> Float[Array, "b l h f"]:
    """Each channel as a point of the plane at a magnitude and an angle: first all x, then all y."""
    magnitude = jax.nn.softplus(x.astype(jnp.float32))
    points_x = magnitude * jnp.cos(angle)
    points_y = magnitude * jnp.sin(angle)
    points = jnp.concatenate([points_x, points_y], axis=-1)  # [B, L, H, 2 Dh]
    return points.astype(x.dtype)
