"""The position itself as a number: the first idea, and unbounded.

No paper: the starting point of every introduction to position encodings. Under the scheme
`normalized` it is the normalized encoding, index / (n - 1), whose step shrinks with the length.
In bfloat16 neighbours would be equal after 256; codes are float32 here, but what they are added to is of the
model's type: with lift="pad", which leaves them one channel of it, neighbours are equal there all the same.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding, Lift


class RawIndex(InputEncoding):
    """code(p) = p, one channel, by default carried into the model by a learned direction."""

    def __init__(self, *, lift: Lift = "project", **rest):
        super().__init__(1, lift=lift, **rest)

    def code(self, positions: Num[Array, "b l"]) -> Float[Array, "b l 1"]:
        return positions.astype(jnp.float32)[..., None]
