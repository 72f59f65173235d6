"""Forgetting attention: a gate of each token fades all that lies before it.

Lin et al. 2025, "Forgetting Transformer: Softmax Attention with a Forget Gate", https://arxiv.org/abs/2503.02130;
gates and their starts as in zhixuan-lin/forgetting-transformer at 246d5e3, modeling_forgetting_transformer.py.

CABLE is the same function. Veisi et al. 2025, "Context-aware Biases for Length Extrapolation",
https://arxiv.org/abs/2503.08067, sums -softplus(z) over the tokens between, and that is log sigmoid(-z): the same
projection with the opposite sign. Its code scales q·k by 1 / sqrt(D); here it is 1 / sqrt(Dh), as everywhere.

The bias is an array, [B, H, L, S]. c_i - c_j could ride on two more channels of q and k instead, but c grows with
the length, and in a bfloat16 q·k the difference of two large numbers would be lost.
"""

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens


class FoX(AttentionEncoding):
    """Adds the log of the product of forget gates, sigmoid(w·x + b) a head, after the key and up to the query.

    Relative; it reads no positions, only the order of tokens. Defined at any distance. A bias of 1000 is right to
    about 1e-4 (float32 sums). Causal only.

    Args:
      gate: "full" is w·x + b, the paper's; "bias_only" trains b alone, "fixed" nothing: both forget by distance,
        fixed gates as ALiBi does.
      bias_start: b at the start, 0 in the authors' code.
      decay_times: (shortest, longest) number of tokens in which heads forget to 1/e, spaced evenly in logarithm; the
        start of b for "bias_only", its value for "fixed".
    """

    relative = True
    reads_positions = False
    sums_between = True
    bidirectional = False
    shared = False

    def __init__(
        self,
        *,
        gate: Literal["full", "bias_only", "fixed"] = "full",
        bias_start: float = 0.0,
        decay_times: tuple[float, ...] | None = None,
        width: int,
        num_heads: int,
        rngs: nnx.Rngs,
    ):
        if decay_times is not None and gate == "full":
            raise ValueError("FoX's decay_times are of gates that read no token: gate='bias_only' or gate='fixed'.")
        if decay_times is None and gate == "fixed":
            raise ValueError("FoX's fixed gates need decay_times, the shortest and the longest in tokens.")
        start = (bias_start,) * num_heads if decay_times is None else _logits(decay_times, num_heads)
        self.num_heads, self.fixed = num_heads, start if gate == "fixed" else None
        self.logits = nnx.Param(jnp.asarray(start)) if gate == "bias_only" else None
        self.projection = (
            nnx.Linear(
                width,
                num_heads,
                dtype=jnp.float32,
                kernel_init=nnx.initializers.normal(0.02),
                bias_init=nnx.initializers.constant(bias_start),
                rngs=rngs,
            )
            if gate == "full"
            else None
        )

    def features(self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]) -> tuple[None, Float[Array, "b l h"]]:
        """The log of each token's gates."""
        if self.projection is not None:
            logits: Any = self.projection(x)
        else:
            logits = self.logits[...] if self.logits is not None else jnp.asarray(self.fixed)
            logits = jnp.broadcast_to(logits[None, None], (*x.shape[:2], self.num_heads))
        return None, jax.nn.log_sigmoid(logits)

    def bias(self, Q: Tokens, K: Tokens) -> Float[Array, "b h l s"]:
        to_key = jnp.cumsum(K.features, axis=1)
        to_query = jnp.take_along_axis(to_key, Q.slots[..., None], axis=1, mode="clip")  # a padded query's slot may be S
        return jnp.moveaxis(to_query, 2, 1)[..., None] - jnp.moveaxis(to_key, 2, 1)[:, :, None]


def _logits(decay_times: tuple[float, ...], num_heads: int) -> tuple[float, ...]:
    """b with log sigmoid(b) = -1 / T, for every head's T."""
    if len(decay_times) != 2 or not 0 < decay_times[0] <= decay_times[1]:
        raise ValueError(f"FoX's decay_times are the shortest and the longest, above 0, got {decay_times}.")
    shortest, longest = map(math.log, decay_times)
    steps = [h / max(num_heads - 1, 1) for h in range(num_heads)]
    return tuple(-math.log(math.expm1(math.exp(-shortest - s * (longest - shortest)))) for s in steps)
