"""Two-dimensional sine-cosine embedding: half of the channels for each axis of an image.

Equation: sin(w_k p_a), cos(w_k p_a), D/2 channels for each axis a.
Beyond training: unseen phases.

He et al. 2021, "Masked Autoencoders Are Scalable Vision Learners",
https://arxiv.org/abs/2111.06377, and Chen et al. 2021, "An Empirical Study of Training
Self-Supervised Vision Transformers" (MoCo v3), https://arxiv.org/abs/2104.02057. Their
implementations share the frequencies base^(-k / (D/4)). big_vision spaces them so that the last is
exactly 1 / base.

Implementations also disagree about which axis comes first. Here it is the first axis of the
positions, which are (row, column) in the scheme `grid`.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding
from pe_lab.encodings.ops import angles, check_positive
from pe_lab.encodings.requirements import Requirements


class Sinusoidal2D(InputEncoding):
    """embedding(p) = [sin(w p0), cos(w p0), sin(w p1), cos(w p1)] with w_k = base^(-k / (D/4)).

    k is 0..D/4-1.

    Args:
      base: base of the geometric series of wavelengths.
      spacing: "paper", or "big_vision" with w_k = base^(-k / (D/4 - 1)).
    """

    requirements = Requirements(site="input", num_axes=2)

    def __init__(
        self,
        *,
        base: float = 10000.0,
        spacing: Literal["paper", "big_vision"] = "paper",
        width: int,
        **rest,
    ):
        if width % 4 or (spacing == "big_vision" and width < 8):
            raise ValueError(
                "Sinusoidal2D has a sine and a cosine for each of two axes, so the width is a "
                f"multiple of 4, got {width}."
            )
        check_positive("Sinusoidal2D", base=base)
        super().__init__(width, width=width, **rest)
        count = width // 4  # of frequencies, each with a sine and a cosine on both axes
        steps = count if spacing == "paper" else count - 1
        exponents = -np.arange(count) / steps
        frequencies = base**exponents
        self.frequencies = tuple(frequencies.tolist())

    def embed(self, positions: Num[Array, "b l 2"]) -> Float[Array, "b l d"]:
        first = angles(positions[..., 0], self.frequencies)
        second = angles(positions[..., 1], self.frequencies)
        parts = [
            jnp.sin(first),
            jnp.cos(first),
            jnp.sin(second),
            jnp.cos(second),
        ]
        return jnp.concatenate(parts, axis=-1)
