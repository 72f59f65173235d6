"""Building one encoding outside of a model, and reading its code."""

import jax.numpy as jnp
import numpy as np
from flax import nnx

from pe_lab.encodings.base import Tokens


def code(encoding, positions) -> np.ndarray:
    """[P, C] of a list of positions."""
    return np.asarray(encoding.code(jnp.asarray(positions)[None])[0])


def rngs(seed: int = 0) -> nnx.Rngs:
    return nnx.Rngs(params=seed)


def tokens(positions, arange: bool = False) -> Tokens:
    positions = jnp.asarray(positions)
    return Tokens(positions[None], jnp.arange(len(positions))[None], arange=arange)
