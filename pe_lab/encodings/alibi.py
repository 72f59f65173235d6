"""ALiBi: a penalty on the logits that grows linearly with distance, steeper in some heads.

Equation: −d · 2^(−8h/H), h = 1..H.
Beyond training: defined, local.

Press et al. 2021, "Train Short, Test Long: Attention with Linear Biases Enables Input Length
Extrapolation", section 3, https://arxiv.org/abs/2108.12409.

Slopes are the paper's for any number of heads. For a power of two they are a geometric series. For
other numbers they are the series of the power of two below, then every other slope of the power of
two above. Hugging Face's MPT has the same slopes in the same order.

The paper is causal. The two other forms come from later work: x-transformers, and Ruoss et al.
2023, https://arxiv.org/abs/2305.16843, who shift the past by half a step to distinguish it from the
future. Slopes can be learned through their logarithm, as in x-transformers and McGill's code. The
paper tried learned slopes and found weaker extrapolation.
"""

from typing import Literal

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Shaped

from pe_lab.encodings.base import OffsetBias
from pe_lab.encodings.ops import alibi_slopes
from pe_lab.encodings.requirements import Requirements


class ALiBi(OffsetBias):
    """Adds -slope_h * distance to the logits.

    Args:
      form: "symmetric" penalizes |distance| on both sides, which is the paper's form in causal
        attention. "asymmetric" adds half a slope to keys before the query. "causal" is the signed
        distance, which only makes sense where the future is masked.
      learn_slopes: train the slopes, starting from the paper's. All layers share one set unless
        share=False.
    """

    requirements = Requirements(only_bias=True, relative=True, cross=True)

    def __init__(
        self,
        *,
        form: Literal["symmetric", "asymmetric", "causal"] = "symmetric",
        learn_slopes: bool = False,
        num_heads: int,
        bidirectional: bool = False,
        rngs: nnx.Rngs | None = None,
    ):
        if form == "causal" and bidirectional:
            raise ValueError(
                "ALiBi's form 'causal' would favor the future in bidirectional attention: "
                "take 'symmetric' or 'asymmetric'."
            )
        self.form = form
        self.slopes = alibi_slopes(num_heads)
        # The logarithm is learned, so that slopes stay positive.
        log_slopes = jnp.log(jnp.asarray(self.slopes, jnp.float32))
        self.log_slopes = nnx.Param(log_slopes) if learn_slopes else None

    def of_offset(self, offset: Shaped[Array, "*o"]) -> Float[Array, "h *o"]:
        offset = offset.astype(jnp.float32)
        distance = -offset if self.form == "causal" else jnp.abs(offset)
        if self.form == "asymmetric":
            is_past = offset < 0
            distance = distance - 0.5 * is_past
        # Fixed slopes do not go through exp and log, which would round them.
        if self.log_slopes is None:
            slope = jnp.asarray(self.slopes, jnp.float32)
        else:
            slope = jnp.exp(self.log_slopes[...])
        return -jnp.multiply.outer(slope, distance)  # [H, *O]
