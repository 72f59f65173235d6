"""KERPLE: a learned penalty on the distance or on its logarithm, a positive definite kernel by construction.

Chi et al. 2022, "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation",
https://arxiv.org/abs/2205.09921.

Differs from the authors' code (chijames/KERPLE at 73f1ee2, megatron/mpu/layers.py), which clamps the
parameters in place inside the forward pass: here the clamp is part of the formula, so the gradient is
that of what is computed. Distances count on both sides; the paper is causal.
"""

from typing import Literal

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Shaped

from pe_lab.encodings.base import AttentionEncoding

_FLOOR = 1e-2  # keeps what is learned positive, and
_LARGEST_POWER = 2.0  # up to here a power of the distance is such a kernel; both as in the authors' code


class KERPLE(AttentionEncoding):
    """Adds -scale * log(1 + rate * distance) to the logits, or -rate * distance^power; a pair of numbers a head.

    Relative, defined at any distance. One pair for each layer. Scale and power start uniform on 0..2, rate on 0..1.

    Args:
      form: "logarithmic", the paper's best, or "power".
    """

    relative = True
    cross = True
    shared = False

    def __init__(self, *, form: Literal["logarithmic", "power"] = "logarithmic", num_heads: int, rngs: nnx.Rngs):
        self.form = form
        self.scale_or_power = nnx.Param(jax.random.uniform(rngs.params(), (num_heads,), maxval=2.0))
        self.rate = nnx.Param(jax.random.uniform(rngs.params(), (num_heads,)))

    def kernel(self, offsets: Shaped[Array, "*o"]) -> Float[Array, "h *o"]:
        distance = jnp.abs(offsets).astype(jnp.float32)[None]
        p, rate = (jnp.maximum(x[...], _FLOOR).reshape(-1, *(1,) * offsets.ndim) for x in (self.scale_or_power, self.rate))
        if self.form == "logarithmic":
            return -p * jnp.log1p(rate * distance)
        some = distance > 0  # 0^p has no gradient in p
        return -rate * jnp.where(some, jnp.where(some, distance, 1.0) ** jnp.minimum(p, _LARGEST_POWER), 0.0)
