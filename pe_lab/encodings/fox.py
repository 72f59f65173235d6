"""Forgetting attention: a forget gate of each token decays the attention to all earlier tokens.

Equation: Σ_{l=j+1..i} log σ(w·x_l + b).
Beyond training: defined.

Lin et al. 2025, "Forgetting Transformer: Softmax Attention with a Forget Gate",
https://arxiv.org/abs/2503.02130. Gates and their initialization follow
zhixuan-lin/forgetting-transformer at 246d5e3, modeling_forgetting_transformer.py.

CABLE is the same function. Veisi et al. 2025, "Context-aware Biases for Length Extrapolation",
https://arxiv.org/abs/2503.08067, sums -softplus(z) over the tokens between, which is log
sigmoid(-z): the same projection with the opposite sign. Its code scales q·k by 1 / sqrt(D); here
the scale is 1 / sqrt(Dh), as in all encodings.

The bias is an array [B, H, L, S]. Two more channels of q and k could give c_i - c_j instead, but c
grows with the length, and a bfloat16 q·k would lose the difference of two large numbers.
"""

import math
from typing import Literal

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.requirements import Requirements


class FoX(AttentionEncoding):
    """Adds the log of the product of the forget gates after the key, up to the query's own gate.

    A gate is sigmoid(w·x + b) for each token and head. Relative; it reads no positions, only the
    order of tokens. Defined at any distance. A bias of 1000 is exact to about 1e-4 (float32 sums).
    Causal only.

    Args:
      gate: "full" is w·x + b, the paper's. "bias_only" trains b alone, and "fixed" trains nothing.
        Both decay with the distance; "fixed" does so like ALiBi.
      bias_start: initial value of b, 0 in the authors' code.
      decay_times: (shortest, longest) number of tokens in which a head decays to 1/e. The heads are
        spaced evenly in the logarithm. It is the initial value of b for "bias_only" and its value
        for "fixed".
    """

    requirements = Requirements(
        only_bias=True,
        relative=True,
        reads_positions=False,
        reads_between=True,
        bidirectional=False,
        per_layer=True,
    )

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
            raise ValueError(
                "FoX's decay_times are of gates that read no token: "
                "gate='bias_only' or gate='fixed'."
            )
        if decay_times is None and gate == "fixed":
            raise ValueError(
                "FoX's fixed gates need decay_times, the shortest and the longest in tokens."
            )
        start = (bias_start,) * num_heads
        if decay_times is not None:
            start = _logits(decay_times, num_heads)
        self.num_heads = num_heads
        self.fixed = start if gate == "fixed" else None
        self.logits = nnx.Param(jnp.asarray(start)) if gate == "bias_only" else None
        projection = None
        if gate == "full":
            projection = nnx.Linear(
                width,
                num_heads,
                dtype=jnp.float32,  # in every model: the bias is a sum of many gates
                kernel_init=nnx.initializers.normal(0.02),
                bias_init=nnx.initializers.constant(bias_start),
                rngs=rngs,
            )
        self.projection = projection

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[None, Float[Array, "b l h"]]:
        """The log of each token's gates."""
        if self.projection is not None:
            logits = self.projection(x)
        else:
            # Gates that read no token are the same at every token.
            of_heads = self.logits[...] if self.logits is not None else jnp.asarray(self.fixed)
            batch, length, _ = x.shape
            shape = (batch, length, self.num_heads)
            logits = jnp.broadcast_to(of_heads[None, None], shape)
        return None, jax.nn.log_sigmoid(logits)

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        """c_i - c_j, where c sums the logs of the gates up to a token."""
        assert Q.slots is not None
        of_keys = jnp.cumsum(K.features, axis=1)  # [B, S, H]
        of_queries = jnp.take_along_axis(of_keys, Q.slots[..., None], axis=1)
        of_queries = jnp.moveaxis(of_queries, 2, 1)[..., None]  # [B, H, L, 1]
        of_keys = jnp.moveaxis(of_keys, 2, 1)[:, :, None]  # [B, H, 1, S]
        return of_queries - of_keys


def _logits(decay_times: tuple[float, ...], num_heads: int) -> tuple[float, ...]:
    """b with log sigmoid(b) = -1 / T, for the decay time T of each head."""
    if len(decay_times) != 2 or not 0 < decay_times[0] <= decay_times[1]:
        raise ValueError(
            f"FoX's decay_times are the shortest and the longest, above 0, got {decay_times}."
        )
    shortest, longest = math.log(decay_times[0]), math.log(decay_times[1])
    last_head = max(num_heads - 1, 1)
    logits = []
    for head in range(num_heads):
        log_time = shortest + head / last_head * (longest - shortest)
        rate = math.exp(-log_time)
        logits.append(-math.log(math.expm1(rate)))
    return tuple(logits)
