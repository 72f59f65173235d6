"""TISA: a learned sum of Gaussian bumps of the offset, in every head.

Equation: Σ_s a_s exp(−|b_s| (j − i − c_s)²).
Beyond training: defined; goes to 0 far away.

Wennberg and Henter 2021, "The Case for Translation-Invariant Self-Attention in Transformer-Based
Language Models", section 4.1, https://arxiv.org/abs/2106.01950. The number of bumps and the
initialization follow ulmewennberg/tisa at a3027ca, model/tisa.py.

Differs: entry (i, j) of the code's matrix is the score of i - j - 1. Here it is the paper's, of
j - i, which is the same function with other centers. Scores are added after q·k / sqrt(Dh).
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Shaped

from pe_lab.encodings.base import OffsetBias
from pe_lab.encodings.requirements import Requirements

_CENTER_STD = 5.0  # the centers start within about ten tokens to both sides
_START = 0.1  # mean of the amplitudes and of the sharpnesses, whose spread is a tenth of it


class TISA(OffsetBias):
    """Adds the sum of amplitude * exp(-|sharpness| * (offset - center)^2) over the bumps.

    The offset is key position - query position. Relative, defined at any distance; far from all
    centers the bias is 0. Each head of each layer has bumps of its own.

    Args:
      num_kernels: the number of bumps of a head, 5 in the authors' code.
    """

    requirements = Requirements(only_bias=True, relative=True, cross=True, per_layer=True)

    def __init__(self, *, num_kernels: int = 5, num_heads: int, rngs: nnx.Rngs):
        if num_kernels < 1:
            raise ValueError(f"TISA needs one kernel or more, got num_kernels={num_kernels}.")
        shape = (num_heads, num_kernels)

        def around_start() -> nnx.Param[Array]:
            noise = jax.random.normal(rngs.params(), shape, jnp.float32)
            return nnx.Param(_START + 0.1 * _START * noise)

        centers = _CENTER_STD * jax.random.normal(rngs.params(), shape, jnp.float32)
        self.centers = nnx.Param(centers)
        self.amplitudes = around_start()
        self.sharpnesses = around_start()

    def of_offset(self, offset: Shaped[Array, "*o"]) -> Float[Array, "h *o"]:
        total = jnp.zeros((), jnp.float32)
        of_heads = (-1, *(1,) * offset.ndim)  # heads are the first axis of the bias
        offset = offset.astype(jnp.float32)[None]
        # One bump at a time: an array of all bumps would be several times the bias.
        for kernel in range(self.centers.shape[1]):
            center = self.centers[...][:, kernel].reshape(of_heads)
            amplitude = self.amplitudes[...][:, kernel].reshape(of_heads)
            sharpness = jnp.abs(self.sharpnesses[...][:, kernel]).reshape(of_heads)
            bump = amplitude * jnp.exp(-sharpness * (offset - center) ** 2)
            total = bump if kernel == 0 else total + bump
        return total
