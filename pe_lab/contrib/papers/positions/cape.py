"""CAPE: real positions that are shifted, jittered and scaled in training.

Position of token t of n: (t + global shift + local jitter) · scale.
Draws: in training.

Likhomanenko et al. 2021, "CAPE: Encoding Relative Positions with Continuous Augmented Positional
Embeddings", https://arxiv.org/abs/2106.03143.

Checked against the port gcambara/cape (cape/cape.py). In its first version the jitter is U(-max/2,
max/2); in later versions, and here, `max_local_shift` is the largest jitter. The port also scales
positions and frequencies for audio in seconds, which is omitted here. The paper computes sinusoids
at these positions and multiplies tokens by sqrt(D): these are the encoding `sinusoidal` and the
model's own scale.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, indices


@dataclass(frozen=True)
class CAPE(PositionScheme):
    """Token i has position (i + shift + jitter_i) * exp(log_scale) in training, i in evaluation.

    The shift, the jitter and log_scale are uniform. Positions may be negative. With a jitter of at
    most 0.5, tokens keep their order.

    Args:
      max_global_shift: the largest shift in either direction, one draw per example; the defaults
        of this and the next two arguments are the port's for text.
      max_local_shift: the largest jitter in either direction, one draw per token.
      max_global_scaling: the largest scale and the inverse of the smallest one, one draw per
        example, uniform in its logarithm.
      normalize: subtract the mean of an example's positions first, in evaluation too; False for
        text in the port.
    """

    max_global_shift: float = 5.0
    max_local_shift: float = 0.5
    max_global_scaling: float = 1.03
    normalize: bool = False

    real = True

    def __post_init__(self):
        for name in ("max_global_shift", "max_local_shift"):
            if getattr(self, name) < 0:
                raise ValueError(f"cape's {name} must be 0 or more, got {getattr(self, name):g}.")
        if self.max_global_scaling < 1:
            raise ValueError(
                f"cape's max_global_scaling must be 1 or more, got {self.max_global_scaling:g}."
            )

    @property
    def reads_length(self) -> bool:  # type: ignore[override]
        return self.normalize

    @property
    def ascending(self) -> bool:  # type: ignore[override]
        return self.max_local_shift <= 0.5

    @property
    def keeps_differences(self) -> bool:  # type: ignore[override]
        return self.max_local_shift == 0 and self.max_global_scaling == 1

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        positions = indices(mask).astype(jnp.float32)
        if self.normalize:
            length = mask.sum(axis=1, keepdims=True).astype(jnp.float32)
            positions = positions - (length - 1) / 2  # the mean of 0..length-1
        if train:
            positions = jax.vmap(self._augmented)(keys, positions)
        return jnp.where(mask, positions, 0.0)[None]

    def _augmented(self, key, positions):
        shift_key, jitter_key, scale_key = jax.random.split(key, 3)

        def uniform(key, most, shape=()):
            return jax.random.uniform(key, shape, jnp.float32, minval=-most, maxval=most)

        shift = uniform(shift_key, self.max_global_shift)
        jitter = uniform(jitter_key, self.max_local_shift, positions.shape)
        log_scale = uniform(scale_key, math.log(self.max_global_scaling))
        scale = jnp.exp(log_scale)
        return (positions + shift + jitter) * scale

    def bound(self, length: int, train: bool) -> int | float:
        last = float(length - 1)
        if self.normalize:
            last = last / 2  # positions are around 0
        if not train:
            return last
        largest_shift = self.max_global_shift + self.max_local_shift
        return (last + largest_shift) * self.max_global_scaling
