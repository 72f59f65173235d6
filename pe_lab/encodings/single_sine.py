"""One sine of the position: bounded and smooth, but it repeats.

Equation: embedding = sin(2πp / period).
Beyond training: repeats.

No paper: the third idea of introductions to position encodings. Positions p and p + period share an
embedding, and so do p and period / 2 - p.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding, Lift
from pe_lab.encodings.ops import angles, check_positive


class SingleSine(InputEncoding):
    """embedding(p) = sin(2 pi p / period), by default projected to the width by a learned vector.

    Args:
      period: period of the sine, in positions.
    """

    def __init__(self, *, period: float = 8.0, lift: Lift = "project", **rest):
        check_positive("SingleSine", period=period)
        super().__init__(1, lift=lift, **rest)
        self.period = period

    def embed(self, positions: Num[Array, "b l"]) -> Float[Array, "b l 1"]:
        frequency = 2 * math.pi / self.period
        phase = angles(positions, [frequency])  # exact, also at large positions
        return jnp.sin(phase)
