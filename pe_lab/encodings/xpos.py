"""xPos: a rotary embedding whose pairs also fade with the distance.

Sun et al. 2022, "A Length-Extrapolatable Transformer", section 3.2, https://arxiv.org/abs/2212.10554; constants
as in microsoft/torchscale at 776b070, torchscale/component/xpos_relative_position.py.

The authors' code counts positions from the middle of the current length, here they are counted back from the
largest key position: what is counted from cancels in the scores, and padding stands at position 0. Left out:
blockwise causal attention (section 3.3), which the paper adds where it extrapolates, and which is a mask.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, angles, rotate

_REACH = 64.0  # e^64 and, with digits to spare, e^-64 are float32


class XPos(AttentionEncoding):
    """RoPE, with pair m of a product times zeta_m^((p - p') / scale_base), zeta_m = (2m / Dh + gamma) / (1 + gamma).

    Relative, and causal only: what lies ahead would grow. Queries carry a growth that keys take back, in float32,
    for queries up to 64 * scale_base / log((1 + gamma) / gamma) positions (26,156 with the paper's constants)
    before the largest key position, wherever that is. The logits of a query before those are NaN.

    Args:
      base: of the geometric series of wavelengths, 10000 in the paper.
      gamma: the larger, the less the fast pairs fade; 0.4 in the authors' code.
      scale_base: positions in which pair m fades by zeta_m, 512 in the authors' code.
    """

    relative = True
    bidirectional = False

    def __init__(self, *, base: float = 10000.0, gamma: float = 0.4, scale_base: float = 512.0, head_dim: int):
        if head_dim % 2:
            raise ValueError(f"XPos rotates pairs, so the head width must be even, got {head_dim}.")
        if not (gamma > 0 and scale_base > 0):
            raise ValueError(f"XPos needs a gamma and a scale_base above 0, got {gamma:g} and {scale_base:g}.")
        share = np.arange(0, head_dim, 2) / head_dim
        self.frequencies = tuple((base**-share).tolist())
        self.fading = tuple((np.log((1 + gamma) / (share + gamma)) / scale_base).tolist())  # of the logarithm, per position

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        last = K.positions.max(axis=1, keepdims=True)
        growth = self._exponents(last - Q.positions)
        # A padded query is far back wherever the others are: were it NaN, so would be the gradients, though 0 enters there.
        padding = jnp.zeros((1, 1), bool) if Q.lengths is None or Q.slots is None else Q.slots >= Q.lengths[:, None]
        growth = jnp.where(growth <= _REACH, growth, jnp.where(padding, 0.0, jnp.nan)[..., None])
        return self._turned(q, Q, growth), self._turned(k, K, -self._exponents(last - K.positions))

    def _exponents(self, back: Num[Array, "b l"]) -> Float[Array, "b l p"]:
        return back.astype(jnp.float32)[..., None] * jnp.asarray(self.fading, jnp.float32)[None, None]

    def _turned(self, x: Float[Array, "b l h e"], tokens: Tokens, exponents: Float[Array, "#b l p"]) -> Float[Array, "b l h e"]:
        """Rotated, and each pair times e^exponent."""
        powers = jnp.repeat(jnp.exp(exponents), 2, axis=-1)[:, :, None]
        return rotate(x.astype(jnp.float32) * powers, angles(tokens.positions, self.frequencies)[:, :, None]).astype(x.dtype)
