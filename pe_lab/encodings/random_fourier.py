"""Random Fourier features: sines and cosines of frequencies drawn once and kept.

Tancik et al. 2020, "Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional Domains",
https://arxiv.org/abs/2006.10739; Segment Anything (Kirillov et al. 2023, https://arxiv.org/abs/2304.02643) adds them
to images. Ports of the latter hold the draw as a parameter, where an optimizer moves it: here it is a constant.
"""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding, angles


class RandomFourier(InputEncoding):
    """code(p) = [sin(2 pi G p), cos(2 pi G p)], G normal(std).

    Defined at any real position, of one axis or several. An odd D ends in a zero.

    Args:
      std: of the frequencies, in turns a position. The papers take 1 and more for positions in -1..1; for
        whole positions a frequency above half a turn is an alias of one below, so the default spans 0..~0.2.
      draw: the seed of G; another draw is another code.
      num_axes: A of the positions.
    """

    def __init__(self, *, std: float = 0.1, draw: int = 0, num_axes: int = 1, width: int, **rest):
        if std <= 0 or num_axes < 1 or width < 2:
            raise ValueError(f"RandomFourier needs std and num_axes above 0 and a width of 2 or more, got {std:g}, {num_axes} and {width}.")
        super().__init__(width, width=width, **rest)
        self.num_axes = num_axes
        drawn = std * np.random.default_rng(draw).standard_normal((num_axes, width // 2))
        self.frequencies = tuple(map(tuple, drawn.tolist()))  # turns a position, for each axis

    def code(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l d"]:
        each = positions.reshape(*positions.shape[:2], self.num_axes)
        of_axes = [angles(each[..., i], [2 * math.pi * f for f in row]) for i, row in enumerate(self.frequencies)]
        a = sum(of_axes[1:], of_axes[0])
        found = jnp.concatenate([jnp.sin(a), jnp.cos(a)], axis=-1)
        return jnp.pad(found, ((0, 0), (0, 0), (0, self.width - found.shape[-1])))
