"""Sandwich: the inner product of two sinusoidal embeddings as a bias, flatter in later heads.

Equation: Σ_k (cos(d·w_k) − 1) · H/8h, h = 1..H.
Beyond training: defined, local.

Chi et al. 2022, "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field
Analysis", https://arxiv.org/abs/2212.10356. Frequencies and slopes follow NVIDIA's NeMo at
000b931 (sandwich_relative_position_embedding.py). NeMo subtracts a constant, the value at distance
0, which keeps the bias at most 0 and changes no softmax. The paper's own text could not be read.
"""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Shaped

from pe_lab.encodings.base import OffsetBias
from pe_lab.encodings.ops import angles, check_positive
from pe_lab.encodings.requirements import Requirements


class Sandwich(OffsetBias):
    """Adds sum_k (cos(distance / 10000^(2k/C)) - 1) * H / 8h to the logits of head h, k = 1..C/2.

    Relative, defined at any distance, symmetric. No parameters.

    Args:
      code_width: C, channels of the sinusoidal embedding; the default of 128 could not be checked.
      base: base of the geometric series of wavelengths.
    """

    requirements = Requirements(only_bias=True, relative=True, cross=True)

    def __init__(
        self,
        *,
        code_width: int = 128,
        base: float = 10000.0,
        num_heads: int,
        rngs: nnx.Rngs | None = None,
    ):
        if code_width < 2 or code_width % 2:
            raise ValueError(
                "Sandwich's code_width counts sines and cosines, so it must be even and "
                f"at least 2, got {code_width}."
            )
        check_positive("Sandwich", base=base)
        num_pairs = code_width // 2
        k = np.arange(1, num_pairs + 1)
        frequencies = base ** (-2 * k / code_width)
        heads = np.arange(1, num_heads + 1)
        slopes = num_heads / (8 * heads)
        self.frequencies = tuple(frequencies.tolist())
        self.slopes = tuple(slopes.tolist())

    def of_offset(self, offset: Shaped[Array, "*o"]) -> Float[Array, "h *o"]:
        phases = angles(offset, self.frequencies)  # [*O, C/2]
        cosines = jnp.cos(phases).sum(axis=-1)
        at_distance_0 = len(self.frequencies)  # where every cosine is 1
        return self.by_head(cosines - at_distance_0)

    def by_head(self, x: Float[Array, "*o"]) -> Float[Array, "h *o"]:
        """The same numbers times the slope of each head."""
        slopes = jnp.asarray(self.slopes, jnp.float32)
        return jnp.multiply.outer(slopes, x)
