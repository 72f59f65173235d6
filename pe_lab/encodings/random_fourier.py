"""Random Fourier features: sines and cosines of frequencies that are drawn once.

Equation: sin(2πGp), cos(2πGp), G drawn once.
Beyond training: unseen phases.

Tancik et al. 2020, "Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional
Domains", https://arxiv.org/abs/2006.10739. Segment Anything (Kirillov et al. 2023,
https://arxiv.org/abs/2304.02643) adds them to images. Ports of the latter hold the frequencies as a
parameter, which an optimizer changes. Here they are constant.
"""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding
from pe_lab.encodings.ops import angles, check_positive, pad_channels


class RandomFourier(InputEncoding):
    """embedding(p) = [sin(2 pi G p), cos(2 pi G p)], where G is drawn from normal(std).

    Defined at any real position with one axis or several. An odd D ends in a zero.

    Args:
      std: standard deviation of the frequencies, in turns per position. The papers take 1 and more
        for positions in -1..1. For whole positions a frequency above half a turn is an alias of one
        below, so frequencies of the default are between 0 and about 0.2.
      draw: the seed of G; another seed gives another embedding.
      num_axes: A, the number of axes of positions.
    """

    def __init__(self, *, std: float = 0.1, draw: int = 0, num_axes: int = 1, width: int, **rest):
        if num_axes < 1 or draw < 0 or width < 2:
            raise ValueError(
                f"RandomFourier needs num_axes above 0, a draw of 0 or more and a width of 2 or "
                f"more, got {num_axes}, {draw} and {width}."
            )
        check_positive("RandomFourier", std=std)
        super().__init__(width, width=width, **rest)
        self.num_axes = num_axes
        self.require(num_axes=num_axes)
        generator = np.random.default_rng(draw)
        shape = (num_axes, width // 2)
        frequencies = std * generator.standard_normal(shape)
        self.frequencies = tuple(map(tuple, frequencies.tolist()))  # turns per position, by axis

    def embed(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l d"]:
        batch, length = positions.shape[:2]
        axes = positions.reshape(batch, length, self.num_axes)  # one axis has no axis of its own
        by_axis = []
        for axis, turns in enumerate(self.frequencies):
            radians = [2 * math.pi * frequency for frequency in turns]
            on_axis = axes[..., axis]
            by_axis.append(angles(on_axis, radians))
        total = sum(by_axis[1:], by_axis[0])
        sines = jnp.sin(total)
        cosines = jnp.cos(total)
        embedding = jnp.concatenate([sines, cosines], axis=-1)
        return pad_channels(embedding, self.width)
