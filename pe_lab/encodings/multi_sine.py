"""Many sines of the position and no cosines: unique, bounded and smooth, but without a shift map.

Equation: embedding_k = sin(p · base^(−k/D)).
Beyond training: unseen phases.

No paper: the step before Vaswani et al. 2017 (https://arxiv.org/abs/1706.03762), whose cosines add
the missing half. With sines alone no linear map takes embedding(p) to embedding(p + shift).
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding
from pe_lab.encodings.ops import angles, check_positive


class MultiSine(InputEncoding):
    """embedding(p)[k] = sin(p / base^(k / D)) for k = 0..D-1.

    Args:
      base: base of the geometric series of wavelengths.
    """

    def __init__(self, *, base: float = 10000.0, width: int, **rest):
        check_positive("MultiSine", base=base)
        super().__init__(width, width=width, **rest)
        self.base = base

    def embed(self, positions: Num[Array, "b l"]) -> Float[Array, "b l d"]:
        exponents = -np.arange(self.width) / self.width
        frequencies = self.base**exponents
        phases = angles(positions, frequencies.tolist())
        return jnp.sin(phases)
