"""RoPE on values as well: what a query gathers is told where it was found.

Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", https://arxiv.org/abs/2104.09864,
for the rotation; that of values is `rotary_value` of Hugging Face's RoFormer, modeling_roformer.py.

There a value turns by its own position and stays turned, which is absolute. Here outputs turn back by the
query's position, so that a value has turned by its offset from the query alone; absolute=True leaves it out.
"""

from typing import Literal

import numpy as np
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens, angles, rotate


class RotaryValue(AttentionEncoding):
    """out = sum over keys of w * R(p' - p) v, with R the rotation that also makes the logits q · R(p' - p) k.

    Relative, unless absolute: then out = sum of w * R(p') v. Right to 1e-6 below position 2^24.

    Args:
      base: of the geometric series of wavelengths, 10000 in the paper.
      layout: a pair is two neighbouring channels ("interleaved", as in the paper), or channels m and m + r/2 ("half").
      fraction: of the head width that turns, r = fraction * Dh.
      absolute: leave outputs as they are turned, as RoFormer's code does.
    """

    relative = True
    cross = True

    def __init__(
        self,
        *,
        base: float = 10000.0,
        layout: Literal["interleaved", "half"] = "interleaved",
        fraction: float = 1.0,
        absolute: bool = False,
        head_dim: int,
    ):
        rotated = round(fraction * head_dim)
        if rotated % 2 or not 2 <= rotated <= head_dim:
            raise ValueError(f"RotaryValue rotates pairs, so {fraction} of the head width {head_dim} must be an even number of channels.")
        self.frequencies = tuple((base ** (-np.arange(0, rotated, 2) / rotated)).tolist())
        self.layout, self.relative = layout, not absolute

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return self._turned(q, Q), self._turned(k, K)

    def mix(self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens) -> Float[Array, "b l h e"]:
        out = super().mix(w, self._turned(v, K), Q, K)
        return self._turned(out, Q, -1.0) if self.relative else out

    def _turned(self, x: Float[Array, "b l h e"], tokens: Tokens, sign: float = 1.0) -> Float[Array, "b l h e"]:
        return rotate(x, sign * angles(tokens.positions, self.frequencies)[:, :, None], self.layout)
