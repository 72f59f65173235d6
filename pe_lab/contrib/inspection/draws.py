"""Random queries, keys and inputs for an encoding that is inspected without a model."""

import dataclasses
from typing import no_type_check

import jax
import numpy as np
from jaxtyping import Array, Float

DRAWS = 16  # per head, from standard normals
SEQUENCES = 1024  # of random tokens, for encodings whose effect depends on the tokens


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Draws:
    """Queries, keys and inputs; keys and inputs of length 1 are the same at every position.

    Attributes:
      q, k: queries and keys.
      x: inputs of the layer.
      factor: multiplies the product of a query and a key.
    """

    q: Float[Array | np.ndarray, "n 1 h e"]
    k: Float[Array | np.ndarray, "n l h e"]
    x: Float[Array | np.ndarray, "n l d"]
    factor: Float[Array | np.ndarray, ""] | np.float32


def random_draws(seed: int, count: int, length: int, num_heads: int, width: int) -> Draws:
    """Standard normal draws; the query is the one of the last token."""
    normal = np.random.default_rng(seed).standard_normal
    head_dim = width // num_heads
    # The order of the draws is part of the published numbers.
    q, k = normal((2, count, length, num_heads, head_dim)).astype(np.float32)
    x = normal((count, length, width)).astype(np.float32)
    last_q = q[:, -1:]
    factor = np.float32(head_dim**-0.5)
    return Draws(last_q, k, x, factor)


def all_directions(seed: int, num_heads: int, width: int) -> Draws:
    """Unit queries that are their own keys: the axes of a random frame, in both signs.

    The mean over them equals the mean over all directions for any polynomial of degree 3 or less
    in the query.
    """
    normal = np.random.default_rng(seed).standard_normal
    head_dim = width // num_heads
    # The axes in both signs integrate polynomials of degree 3 over the sphere exactly.
    frames, _ = np.linalg.qr(normal((num_heads, head_dim, head_dim)))  # [H, Dh, Dh]
    axes = np.moveaxis(frames, 0, 1)[:, None]
    inputs = normal((head_dim, 1, width))
    q = np.concatenate([axes, -axes]).astype(np.float32)
    x = np.concatenate([inputs, -inputs]).astype(np.float32)
    factor = np.float32(head_dim**-0.5)
    return Draws(q, q, x, factor)
