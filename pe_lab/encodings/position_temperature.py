"""Position temperature: logits sharpen with the query's position, so that attention among more keys is no flatter.

No paper: Llama 4 has it on its layers without RoPE, read in Hugging Face's transformers, models/llama4/modeling_llama4.py
(attn_temperature_tuning), which names Nakanishi 2025, "Scalable-Softmax Is Superior for Attention",
https://arxiv.org/abs/2501.19399, as the idea; steps=False is Inkling's, models/inkling/modeling_inkling.py (log_scaling).

Inkling multiplies the bias of its relative_logits as well; here what other encodings of the layer add is left as it is. The
model's own field `logit_temperature` counts the keys in sight, on every layer; this one reads positions, and can be
given to some layers: dict(name="position_temperature", layers=(3,)).
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens


class PositionTemperature(AttentionEncoding):
    """Multiplies q at position p by 1 + rate * log(1 + floor((p + 1) / start)), or by 1 + rate * log(max((p + 1) / start, 1)).

    Absolute, and says nothing of keys: all distances are alike to it, so that it goes with an encoding or a causal mask that tells
    them apart. Before position start - 1 it changes nothing.

    Args:
      rate: of the logarithm, 0.1 in both models (attn_scale, log_scaling_alpha).
      start: positions, the first place where it may act; 8192 in Llama 4 (floor_scale).
      steps: whole multiples of `start` count, as in Llama 4, or every position, as in Inkling.
    """

    cross = True
    coarse = True

    def __init__(self, *, rate: float = 0.1, start: int = 8192, steps: bool = True):
        if start < 1:
            raise ValueError(f"PositionTemperature needs a start of at least 1, got {start}.")
        self.rate, self.start, self.steps = rate, start, steps

    def factor(self, positions: Num[Array, "b l"]) -> Float[Array, "b l"]:
        """Of the queries at positions."""
        place = positions + 1
        multiple = 1 + place // self.start if self.steps else jnp.maximum(place / self.start, 1)
        return 1 + self.rate * jnp.log(multiple.astype(jnp.float32))

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return (q * self.factor(Q.positions)[:, :, None, None]).astype(q.dtype), k
