"""The position itself as a number: the first idea, and unbounded.

Equation: embedding = p.
Beyond training: grows without bound.

No paper: the starting point of every introduction to position encodings. Under the scheme
`normalized` it is the normalized encoding, index / (n - 1), whose step shrinks with the length.

In bfloat16, neighboring positions above 256 are equal. Embeddings are float32 here, but they are
added to token embeddings of the model's dtype. With lift="pad" an embedding is one channel of their
sum, so neighboring positions are equal there in a bfloat16 model.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding, Lift


class RawIndex(InputEncoding):
    """embedding(p) = p, by default projected to the model's width by a learned vector."""

    def __init__(self, *, lift: Lift = "project", **rest):
        super().__init__(1, lift=lift, **rest)

    def embed(self, positions: Num[Array, "b l"]) -> Float[Array, "b l 1"]:
        return positions.astype(jnp.float32)[..., None]
