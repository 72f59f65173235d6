"""CAPE: real positions that are shifted, jittered and stretched in training, so that only rough
distances hold.

Likhomanenko et al. 2021, "CAPE: Encoding Relative Positions with Continuous Augmented Positional
Embeddings", https://arxiv.org/abs/2106.03143.

Checked in the port gcambara/cape (cape/cape.py). Its first version takes a `max_local_shift` of
twice the size, U(-max/2, max/2); later versions, and here, the number is the largest jitter. Left
out are its scales of positions and of frequencies, which are for audio in seconds. The sinusoids
that the paper computes at these positions, and its factor sqrt(D) on tokens, are not of a scheme:
`sinusoidal` and the model's own scale.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, indices


@dataclass(frozen=True)
class CAPE(PositionScheme):
    """In training token i has position (i + shift + jitter_i) * exp(log_scale), all three uniform;
    in evaluation i.

    Positions may be negative. Up to a jitter of 0.5 tokens keep their order.

    Args:
      max_global_shift: in positions, either way, one draw an example; 5 in the port's example for
        text, as the next two.
      max_local_shift: in positions, either way, one draw a token.
      max_global_scaling: the largest factor and the inverse of the smallest, one draw an example,
        uniform in its logarithm.
      normalize: the mean of an example's positions is subtracted first, in evaluation too; off for
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

    def __call__(
        self, keys: Keys, mask: Bool[Array, "b l"], *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l"]:
        positions = indices(mask).astype(jnp.float32)
        if self.normalize:
            positions = positions - (mask.sum(axis=1, keepdims=True) - 1) / 2
        if train:
            positions = jax.vmap(self._augmented)(keys, positions)
        return jnp.where(mask, positions, 0.0)[None]

    def _augmented(self, key, positions):
        of_shift, of_jitter, of_scale = jax.random.split(key, 3)

        def uniform(key, most, shape=()):
            return jax.random.uniform(key, shape, minval=-most, maxval=most)

        shifted = (
            positions
            + uniform(of_shift, self.max_global_shift)
            + uniform(of_jitter, self.max_local_shift, positions.shape)
        )
        return shifted * jnp.exp(uniform(of_scale, math.log(self.max_global_scaling)))

    def bound(self, length: int, train: bool) -> int | float:
        last = (length - 1) / (2 if self.normalize else 1)
        return (
            (last + self.max_global_shift + self.max_local_shift) * self.max_global_scaling
            if train
            else last
        )
