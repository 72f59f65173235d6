"""Position temperature: logits grow with the query's position, so that attention stays sharp.

Equation: q · (1 + rate · log max(1 + ⌊(p + 1) / start⌋, 1)).
Beyond training: grows as log p.

No paper: Llama 4 has it on its layers without RoPE. It is read from Hugging Face's transformers,
models/llama4/modeling_llama4.py (attn_temperature_tuning), which names Nakanishi 2025,
"Scalable-Softmax Is Superior for Attention", https://arxiv.org/abs/2501.19399, as the idea.
steps=False is Inkling's form, models/inkling/modeling_inkling.py (log_scaling).

Inkling also multiplies the bias of its relative_logits. Here the biases of other encodings of the
layer are not changed. The model's field `logit_temperature` counts the visible keys on every layer.
This encoding reads positions and can act on some layers only:
dict(name="position_temperature", layers=(3,)).
"""

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import check_finite
from pe_lab.encodings.requirements import Requirements


class PositionTemperature(AttentionEncoding):
    """Multiplies q at position p by 1 + rate * log(max(1 + floor((p + 1) / start), 1)).

    Without steps the factor is 1 + rate * log(max((p + 1) / start, 1)). Absolute. It does not
    depend on keys and does not distinguish distances, so another encoding or a causal mask must do
    so. It changes nothing before position start - 1, negative positions included.

    Args:
      rate: factor of the logarithm, 0.1 in both models (attn_scale, log_scaling_alpha).
      start: number of positions before the first change; 8192 in Llama 4 (floor_scale).
      steps: count whole multiples of `start`, as in Llama 4, or every position, as in Inkling.
    """

    requirements = Requirements(coarse=True, cross=True)

    def __init__(
        self,
        *,
        rate: float = 0.1,
        start: int = 8192,
        steps: bool = True,
        rngs: nnx.Rngs | None = None,
    ):
        if start < 1:
            raise ValueError(f"PositionTemperature needs a start of at least 1, got {start}.")
        check_finite("PositionTemperature", rate=rate)
        self.rate = rate
        self.start = start
        self.steps = steps

    def factor(self, positions: Num[Array, "b l"]) -> Float[Array, "b l"]:
        """The factor of the queries at these positions."""
        count = positions + 1
        multiple = 1 + count // self.start if self.steps else count / self.start
        multiple = jnp.maximum(multiple, 1)  # below the first, as at negative positions
        multiple = multiple.astype(jnp.float32)
        return 1 + self.rate * jnp.log(multiple)

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        # Queries alone, because a logit grows with the query's position and not the key's.
        factor = self.factor(Q.positions)[:, :, None, None]  # [B|1, L, 1, 1]
        scaled_q = q * factor
        return scaled_q.astype(q.dtype), k
