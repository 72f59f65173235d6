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

The paper's "Pro" block is FoX with settings of the model: token_shift="both", qk_norm=True,
head_output_norm=True and output_gate="element", as configs/experiment/longcrawl64 of that code.
There each head has its own scales of these norms; here all heads share them.

With PaTH it is the forget gate of Yang et al. 2025, https://arxiv.org/abs/2505.16381. Their code,
fla-org/flash-linear-attention at bc3b101, divides the sums by sqrt(Dh) as well: scaled=True.

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
from pe_lab.encodings.ops import check_finite
from pe_lab.encodings.requirements import Requirements

# Decay times in tokens. Outside of them e^(1 / T) or its difference from 1 is no number.
_SHORTEST_DECAY = 0.01
_LONGEST_DECAY = 1e12


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
      scaled: divide the sums by sqrt(Dh), as q·k.
    """

    later_arguments = ("scaled",)
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
        scaled: bool = False,
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
        check_finite("FoX", bias_start=bias_start)
        if decay_times is None:
            start = (bias_start,) * num_heads
        else:
            start = _logits(decay_times, num_heads)
        self.num_heads = num_heads
        self.scaled = scaled
        self.fixed = start if gate == "fixed" else None
        logits = None
        if gate == "bias_only":
            logits = nnx.Param(jnp.asarray(start, jnp.float32))
        self.logits = logits
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
            fixed = self.fixed if self.logits is None else self.logits[...]
            of_heads = jnp.asarray(fixed, jnp.float32)
            batch, length, _ = x.shape
            shape = (batch, length, self.num_heads)
            logits = jnp.broadcast_to(of_heads[None, None], shape)
        log_gates = jax.nn.log_sigmoid(logits)
        return None, log_gates

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        """c_i - c_j, where c sums the logs of the gates up to a token."""
        assert Q.slots is not None
        sums = jnp.cumsum(K.features, axis=1)  # [B, S, H]
        query_slots = Q.slots[..., None]
        c_i = jnp.take_along_axis(sums, query_slots, axis=1)
        c_i = jnp.moveaxis(c_i, 2, 1)[..., None]  # [B, H, L, 1]
        c_j = jnp.moveaxis(sums, 2, 1)[:, :, None]  # [B, H, 1, S]
        # Positive for keys after the query, which the causal mask hides.
        bias = c_i - c_j
        if self.scaled:
            bias = bias / math.sqrt(q.shape[-1])
        return bias


def _logits(decay_times: tuple[float, ...], num_heads: int) -> tuple[float, ...]:
    """b with log sigmoid(b) = -1 / T, for the decay time T of each head."""
    if len(decay_times) != 2 or not decay_times[0] <= decay_times[1]:
        raise ValueError(f"FoX's decay_times are the shortest and the longest, got {decay_times}.")
    if not (decay_times[0] >= _SHORTEST_DECAY and decay_times[1] <= _LONGEST_DECAY):
        raise ValueError(
            f"FoX's decay_times are from {_SHORTEST_DECAY:g} to {_LONGEST_DECAY:g} tokens, got "
            f"{decay_times}."
        )
    log_shortest = math.log(decay_times[0])
    log_longest = math.log(decay_times[1])
    log_range = log_longest - log_shortest
    last_head = max(num_heads - 1, 1)
    logits = []
    for head in range(num_heads):
        log_time = log_shortest + head / last_head * log_range
        rate = math.exp(-log_time)
        odds = math.expm1(rate)  # of forgetting: (1 - e^-rate) / e^-rate
        logits.append(-math.log(odds))
    return tuple(logits)
