"""KERPLE: a learned penalty on a power of the distance or on its logarithm.

Equation: −r₁ log(1 + r₂ d), or −r₂ d^r₁.
Beyond training: defined.

Chi et al. 2022, "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation",
https://arxiv.org/abs/2205.09921. Both forms are conditionally positive definite kernels.

Differs from the authors' code (chijames/KERPLE at 73f1ee2, megatron/mpu/layers.py), which clamps
the parameters in place during the forward pass. Here the clamp is part of the formula, so the
gradient belongs to the function that is computed. Distances count on both sides; the paper is
causal.
"""

from typing import Literal

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Shaped

from pe_lab.encodings.base import OffsetBias
from pe_lab.encodings.requirements import Requirements

# Both limits follow the authors' code.
_LEAST = 1e-2  # parameters stay positive
_LARGEST_POWER = 2.0  # a larger power of the distance is no such kernel


class KERPLE(OffsetBias):
    """Adds -scale * log(1 + rate * distance) to the logits, or -rate * distance^power.

    Relative, defined at any distance. Each head of each layer has its own two numbers. Scale and
    power are initialized uniformly on 0..2, the rate on 0..1.

    Args:
      form: "logarithmic", the paper's best, or "power".
    """

    requirements = Requirements(only_bias=True, relative=True, cross=True, per_layer=True)

    def __init__(
        self,
        *,
        form: Literal["logarithmic", "power"] = "logarithmic",
        num_heads: int,
        rngs: nnx.Rngs,
    ):
        self.form = form
        shape = (num_heads,)
        scale_or_power = jax.random.uniform(rngs.params(), shape, jnp.float32, maxval=2.0)
        self.scale_or_power = nnx.Param(scale_or_power)
        rate = jax.random.uniform(rngs.params(), shape, jnp.float32)
        self.rate = nnx.Param(rate)

    def of_offset(self, offset: Shaped[Array, "*o"]) -> Float[Array, "h *o"]:
        distance = jnp.abs(offset)
        distance = distance.astype(jnp.float32)[None]
        of_heads = (-1, *(1,) * offset.ndim)  # heads are the first axis of the bias
        scale_or_power = jnp.maximum(self.scale_or_power[...], _LEAST)
        scale_or_power = scale_or_power.reshape(of_heads)
        rate = jnp.maximum(self.rate[...], _LEAST)
        rate = rate.reshape(of_heads)
        if self.form == "logarithmic":
            scale = scale_or_power
            return -scale * jnp.log1p(rate * distance)
        power = jnp.minimum(scale_or_power, _LARGEST_POWER)
        is_positive = distance > 0  # 0^p has no gradient in p
        # A `where` after the power alone would leave a NaN in the gradient: 0 times infinity.
        safe_distance = jnp.where(is_positive, distance, 1.0)
        powers = jnp.where(is_positive, safe_distance**power, 0.0)
        return -rate * powers
