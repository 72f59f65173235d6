"""Binary digits of the position: bounded and unique, but not smooth.

Equation: embedding_k = bit k of p.
Beyond training: 2^num_bits positions, then NaN.

No paper: the second idea of introductions to position encodings. A step from 2^k - 1 to 2^k flips
k + 1 digits at once, so near positions can have distant embeddings.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding
from pe_lab.encodings.requirements import Requirements


class Binary(InputEncoding):
    """Bit k of the position in channel k, lowest first.

    Positions outside of 0..2^num_bits-1 have no embedding: it is NaN.

    Args:
      num_bits: C.
      signed: bits are -1 and 1 instead of 0 and 1, so that all embeddings have the same norm.
    """

    requirements = Requirements(site="input", whole_positions=True)

    # Positions are int32: 2^30 is the largest power of two that counts them.
    def __init__(self, *, num_bits: int = 16, signed: bool = False, **rest):
        if not 1 <= num_bits <= 30:
            raise ValueError(f"Binary takes 1 to 30 bits, got {num_bits}.")
        super().__init__(num_bits, **rest)
        self.num_bits = num_bits
        self.signed = signed
        self.require(max_positions=2**num_bits)

    def embed(self, positions: Num[Array, "b l"]) -> Float[Array, "b l c"]:
        shifts = jnp.arange(self.num_bits)[None, None]  # [1, 1, bits]
        shifted_positions = positions[..., None] >> shifts
        bits = shifted_positions & 1
        values = bits.astype(jnp.float32)
        if self.signed:
            values = 2 * values - 1
        # Beyond the last bit embeddings would repeat, so there is none.
        num_positions = 2**self.num_bits
        inside = (positions >= 0) & (positions < num_positions)
        return jnp.where(inside[..., None], values, jnp.nan)
