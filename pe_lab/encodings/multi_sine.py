"""Many sines of the position, no cosines: unique, bounded and smooth, but without a shift map.

No paper: the step before Vaswani et al. 2017 (https://arxiv.org/abs/1706.03762), whose cosines add
what is missing here: for sines alone no linear map takes code(p) to code(p + shift).
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding, angles


class MultiSine(InputEncoding):
    """code(p)[k] = sin(p / base^(k / D)) for k = 0..D-1.

    Args:
      base: of the geometric series of wavelengths.
    """

    def __init__(self, *, base: float = 10000.0, width: int, **rest):
        super().__init__(width, width=width, **rest)
        self.base = base

    def code(self, positions: Num[Array, "b l"]) -> Float[Array, "b l d"]:
        return jnp.sin(angles(positions, (self.base ** (-np.arange(self.width) / self.width)).tolist()))
