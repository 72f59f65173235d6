"""Rotary position embedding: queries and keys turn by an angle proportional to their position.

Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2,
https://arxiv.org/abs/2104.09864.

The paper pairs neighbouring channels ("interleaved", also GPT-J); GPT-NeoX and its heirs pair channel
m with m + r/2 ("half"). The two are one function up to a permutation of weights. Partial rotation
(GPT-J, GPT-NeoX) turns the first r channels only, the frequencies spanning r, and leaves the rest.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens


class RoPE(AttentionEncoding):
    """Pair m of a query or key at position p turns by p * base^(-2m / r); the product then sees p - p' alone.

    Relative. Angles are float32: off by 1e-3 at position 1e5, 2e-2 at 1e6.

    Args:
      base: of the geometric series of wavelengths, 10000 in the paper.
      layout: which channels form a pair, see above.
      fraction: of the head width that turns, r = fraction * Dh.
    """

    relative = True
    cross = True

    def __init__(
        self, *, base: float = 10000.0, layout: Literal["interleaved", "half"] = "interleaved", fraction: float = 1.0, head_dim: int
    ):
        if head_dim % 2:
            raise ValueError(f"RoPE rotates pairs, so the head width must be even, got {head_dim}.")
        rotated = round(fraction * head_dim)
        if rotated % 2 or not 2 <= rotated <= head_dim:
            got = f"{fraction} of the head width {head_dim} is {fraction * head_dim:g}"
            raise ValueError(f"RoPE rotates pairs, so the rotated part must be an even number of channels, but {got}.")
        self.layout, self.rotated = layout, rotated
        self.frequencies = tuple((base ** (-np.arange(0, rotated, 2) / rotated)).tolist())

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return self.rotate(q, Q), self.rotate(k, K)

    def rotate(self, x: Float[Array, "b l h e"], tokens: Tokens) -> Float[Array, "b l h e"]:
        """Turns the first r channels of each head by the angles of the tokens' positions."""
        angles = tokens.positions.astype(jnp.float32)[..., None] * jnp.asarray(self.frequencies)[None, None]
        cos, sin = jnp.cos(angles)[:, :, None], jnp.sin(angles)[:, :, None]  # [B|1, L, 1, r/2]
        turned, rest = x[..., : self.rotated].astype(jnp.float32), x[..., self.rotated :]
        if self.layout == "half":
            a, b = jnp.split(turned, 2, axis=-1)
            y = jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
        else:
            a, b = turned[..., 0::2], turned[..., 1::2]
            y = jnp.stack([a * cos - b * sin, b * cos + a * sin], axis=-1).reshape(turned.shape)
        return jnp.concatenate([y.astype(x.dtype), rest], axis=-1)
