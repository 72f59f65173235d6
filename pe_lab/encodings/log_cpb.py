"""Log-spaced continuous position bias of SwinV2: a small network reads the logarithm of the offset.

Equation: 16 σ(MLP(sign(i − j) log₂(1 + 8 |i − j| / (w − 1)) / 3)), of all axes.
Beyond training: defined; the logarithm keeps it near the trained offsets.

Liu et al. 2022, "Swin Transformer V2: Scaling Up Capacity and Resolution", section 3.3,
https://arxiv.org/abs/2111.09883. The network, the sigmoid and the initialization follow
microsoft/Swin-Transformer at 055c506, models/swin_transformer_v2.py. Its offset is query position -
key position.

Differs: the paper's cosine attention is not included, so the bias is added to q·k / sqrt(Dh).
There a table holds the bias of all offsets of a window; here it is computed for any positions.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import check_axes
from pe_lab.encodings.requirements import Requirements

_RANGE = 8.0  # the trained offsets are scaled to -8..8 before the logarithm
_LARGEST_BIAS = 16.0


class LogCPB(AttentionEncoding):
    """Adds 16 * sigmoid(MLP(log-spaced offset)) to the logits. The bias is between 0 and 16.

    The network has one hidden layer with ReLU and no bias at its output. Relative along each axis.
    Positions are [B|1, L, A]. All layers share one network unless share=False.

    Args:
      window: w, the number of trained positions of an axis; SwinV2's smallest window is 8.
      hidden_width: width of the hidden layer, 512 in the authors' code.
      num_axes: A; the paper has 2, and 1 is for text.
    """

    requirements = Requirements(relative=True, num_axes=2, cross=True, only_bias=True)

    def __init__(
        self,
        *,
        window: int = 8,
        hidden_width: int = 512,
        num_axes: int = 2,
        num_heads: int,
        rngs: nnx.Rngs,
    ):
        if window < 2 or hidden_width < 1 or num_axes < 1:
            raise ValueError(
                f"LogCPB needs a window of two positions or more, a hidden channel and an axis, "
                f"got window={window}, hidden_width={hidden_width} and num_axes={num_axes}."
            )
        self.scale = _RANGE / (window - 1)
        self.num_axes = num_axes
        self.require(num_axes=num_axes)
        # timm's trunc_normal_(std=0.02) cuts at -2 and 2, so at nothing; Flax's at 0.04.
        start = nnx.initializers.normal(0.02)
        self.hidden = nnx.Linear(num_axes, hidden_width, kernel_init=start, rngs=rngs)
        self.output = nnx.Linear(
            hidden_width, num_heads, use_bias=False, kernel_init=start, rngs=rngs
        )

    def bias(self, Q: Tokens, K: Tokens) -> Float[Array, "_ h l s"]:
        for side in (Q, K):
            check_axes(side.positions, self.num_axes, "LogCPB")
        offset = Q.positions[:, :, None] - K.positions[:, None]
        offset = offset.astype(jnp.float32)
        if self.num_axes == 1:
            offset = offset[..., None]  # [B|1, L, S, 1]
        scaled = self.scale * offset
        # An offset of window - 1 becomes log2(9) / 3, about 1.
        log_offset = jnp.sign(scaled) * jnp.log2(1 + jnp.abs(scaled)) / math.log2(_RANGE)
        hidden = jax.nn.relu(self.hidden(log_offset))
        by_head = _LARGEST_BIAS * jax.nn.sigmoid(self.output(hidden))  # [B|1, L, S, H]
        return jnp.moveaxis(by_head, -1, 1)
