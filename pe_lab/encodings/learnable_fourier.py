"""Learnable Fourier features: sines and cosines of learned frequencies, then a small network.

Equation: W₂ gelu(W₁ [cos(W_r p), sin(W_r p)] / √F).
Beyond training: defined, unseen.

Li et al. 2021, "Learnable Fourier Features for Multi-Dimensional Spatial Positional Encoding",
algorithm 1, https://arxiv.org/abs/2106.02795. The cosines come first, and both are divided by the
root of their number, as in the ports (willGuimont/learnable_fourier_positional_encoding at
220e938).

The ports disagree on the initialization, a normal distribution with a parameter gamma. Here its
standard deviation is 1 / gamma. The paper's own sizes could not be read; the defaults are the
port's.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding
from pe_lab.encodings.ops import check_positive


class LearnableFourier(InputEncoding):
    """embedding(p) = W2 gelu(W1 f + b1) + b2 with f = [cos(Wr p), sin(Wr p)] / sqrt(F).

    Defined at any real position with one axis or several. Angles are plain float32 products,
    because the frequencies are learned: the error at position p is 1e-7 |p| |frequency|.

    Args:
      num_features: F, the number of cosines and sines together.
      hidden_width: width of the network's hidden layer.
      gamma: frequencies are initialized normal(1 / gamma), in radians per position.
      num_axes: A, the number of axes of positions.
    """

    def __init__(
        self,
        *,
        num_features: int = 768,
        hidden_width: int = 32,
        gamma: float = 10.0,
        num_axes: int = 1,
        width: int,
        rngs: nnx.Rngs,
        **rest,
    ):
        if num_features < 2 or num_features % 2 or hidden_width < 1 or num_axes < 1:
            got = f"{num_features}, {hidden_width} and {num_axes}"
            raise ValueError(
                f"LearnableFourier needs an even num_features, a hidden_width and num_axes above "
                f"0, got {got}."
            )
        check_positive("LearnableFourier", gamma=gamma)
        super().__init__(width, width=width, rngs=rngs, **rest)
        self.num_axes = num_axes
        self.require(num_axes=num_axes)
        shape = (num_features // 2, num_axes)
        frequencies = jax.random.normal(rngs.params(), shape, jnp.float32) / gamma
        self.frequencies = nnx.Param(frequencies)  # radians per position
        self.into = nnx.Linear(num_features, hidden_width, rngs=rngs)
        self.out = nnx.Linear(hidden_width, width, rngs=rngs)

    def fourier_features(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l f"]:
        """[cos, sin] / sqrt(F), before the network."""
        batch, length = positions.shape[:2]
        p = positions.astype(jnp.float32)
        p = p.reshape(batch, length, self.num_axes)  # one axis is not an axis of the array
        angles = jnp.einsum("bla,fa->blf", p, self.frequencies[...])
        cosines = jnp.cos(angles)
        sines = jnp.sin(angles)
        features = jnp.concatenate([cosines, sines], axis=-1)
        num_features = features.shape[-1]
        return features / math.sqrt(num_features)

    def embed(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l d"]:
        hidden = self.into(self.fourier_features(positions))
        # The exact form, as in PyTorch; JAX approximates by default.
        hidden = jax.nn.gelu(hidden, approximate=False)
        return self.out(hidden)
