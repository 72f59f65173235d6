"""xPos: a rotary embedding whose pairs also decay with the distance.

Equation: RoPE, times ζ_m^(distance / 512).
Beyond training: fades.

Sun et al. 2022, "A Length-Extrapolatable Transformer", section 3.2,
https://arxiv.org/abs/2212.10554. Constants follow microsoft/torchscale at 776b070,
torchscale/component/xpos_relative_position.py.

The authors' code counts positions from the middle of the current length. Here they are counted back
from the largest position so far; the origin cancels in the logits. Left out is blockwise causal
attention (section 3.3), a mask that the paper adds for extrapolation.
"""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import angles, check_positive, rotate
from pe_lab.encodings.requirements import Requirements

_REACH = 64.0  # e^64 and e^-64 are well inside the range of float32


class XPos(AttentionEncoding):
    """RoPE, with pair m of a product times zeta_m^((p - p') / scale_base).

    zeta_m = (2m / Dh + gamma) / (1 + gamma). Relative. Causal only, because logits of later keys
    would grow. Queries are multiplied by a factor that keys divide out, in float32. This works for
    queries up to 64 * scale_base / log((1 + gamma) / gamma) positions (26,156 with the paper's
    constants) before the largest position of the keys up to the last query. The logits of earlier
    queries are NaN. While decoding, the empty slots of a cache do not count.

    Args:
      base: base of the geometric series of wavelengths, 10000 in the paper.
      gamma: the larger, the less the fast pairs decay; 0.4 in the authors' code.
      scale_base: number of positions in which pair m decays by zeta_m, 512 in the authors' code.
    """

    requirements = Requirements(relative=True, bidirectional=False)

    def __init__(
        self,
        *,
        base: float = 10000.0,
        gamma: float = 0.4,
        scale_base: float = 512.0,
        head_dim: int,
        rngs: nnx.Rngs | None = None,
    ):
        if head_dim % 2:
            raise ValueError(f"XPos rotates pairs, so the head width must be even, got {head_dim}.")
        check_positive("XPos", base=base, gamma=gamma, scale_base=scale_base)
        self.head_dim = head_dim
        share = np.arange(0, head_dim, 2) / head_dim  # 2m / Dh
        frequencies = base**-share
        inverse_zeta = (1 + gamma) / (share + gamma)
        decay = np.log(inverse_zeta) / scale_base
        if decay.max() > _REACH:  # logits of every query but the last would be NaN
            raise ValueError(
                f"XPos's scale_base {scale_base:g} with gamma {gamma:g} decays by more than "
                f"e^{_REACH:g} in one position: take a larger scale_base."
            )
        # Python's floats have 64 bits, which the exact `angles` needs.
        self.frequencies = tuple(frequencies.tolist())
        self.decay = tuple(decay.tolist())  # decrease of the logarithm per position

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        last = _last_position(Q, K)  # the origin, which cancels in the logits
        query_exponents = self._exponents(last - Q.positions)
        # Beyond the reach a factor would overflow: NaN instead of a wrong logit.
        query_exponents = jnp.where(query_exponents <= _REACH, query_exponents, jnp.nan)
        # Slots after the last query may be further away than the reach: no query sees them.
        key_distance = jnp.maximum(last - K.positions, 0)
        key_exponents = -self._exponents(key_distance)
        q = self._rotate(q, Q, query_exponents)
        k = self._rotate(k, K, key_exponents)
        return q, k

    def _exponents(self, distance: Num[Array, "b l"]) -> Float[Array, "b l p"]:
        decay = jnp.asarray(self.decay, jnp.float32)
        distance = distance.astype(jnp.float32)[..., None]
        return distance * decay[None, None]

    def _rotate(
        self, x: Float[Array, "b l h e"], tokens: Tokens, exponents: Float[Array, "#b l p"]
    ) -> Float[Array, "b l h e"]:
        """Rotated, with each pair multiplied by e^exponent."""
        powers = jnp.exp(exponents)
        powers = jnp.repeat(powers, 2, axis=-1)  # both channels of a pair
        angle = angles(tokens.positions, self.frequencies)
        # In float32, because the factors of queries and keys only cancel there.
        scaled_x = x.astype(jnp.float32) * powers[:, :, None]
        rotated_x = rotate(scaled_x, angle[:, :, None])
        return rotated_x.astype(x.dtype)


def _last_position(Q: Tokens, K: Tokens) -> Num[Array, "b 1"]:
    """The largest position of the keys up to the last query, [B|1, 1].

    Later slots of a cache are empty, and hold the positions of tokens to come.
    """
    positions = K.positions
    if Q.slots is not None and K.slots is not None:
        is_reached = K.slots <= Q.slots.max(axis=1, keepdims=True)
        smallest = positions.min(axis=1, keepdims=True)
        positions = jnp.where(is_reached, positions, smallest)
    return positions.max(axis=1, keepdims=True)
