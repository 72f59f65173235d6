"""Learned absolute positions: a table with one trained row for each position.

Equation: embedding = table[p].
Beyond training: undefined: rejected.

Gehring et al. 2017, "Convolutional Sequence to Sequence Learning",
https://arxiv.org/abs/1705.03122; in transformers Devlin et al. 2018 (BERT),
https://arxiv.org/abs/1810.04805, whose 512 rows and initialization normal(0.02) are the defaults.

Differs from BERT in the ratio of positions to tokens at the start. BERT's tokens start with a
standard deviation of 0.02 as well, so the ratio is 1. Here tokens start with 1, so with the default
the ratio is 0.02. `init_std=1.0` has BERT's ratio, and `init_std=0.5**0.5` that of sinusoids.

Differs from most code, which clamps a position beyond the table to its last row. Here its embedding
is NaN, and training beyond the table is rejected.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding
from pe_lab.encodings.ops import check_finite, lookup
from pe_lab.encodings.requirements import Requirements


class Learned(InputEncoding):
    """embedding(p) = table[p].

    Args:
      max_positions: rows of the table; positions 0..max_positions-1 have an embedding.
      init_std: standard deviation of the table's normal initialization, which is also the ratio of
        positions to tokens at the start; 0.02 is BERT's number, and BERT's ratio is 1.
    """

    requirements = Requirements(site="input", whole_positions=True)

    def __init__(
        self,
        *,
        max_positions: int = 512,
        init_std: float = 0.02,
        width: int,
        rngs: nnx.Rngs,
        **rest,
    ):
        if max_positions < 1:
            raise ValueError(
                f"Learned needs at least one position, got max_positions={max_positions}."
            )
        check_finite("Learned", init_std=init_std)
        super().__init__(width, width=width, rngs=rngs, **rest)
        # A setup is refused if training reaches a position beyond the table.
        self.require(max_positions=max_positions)
        normal = jax.random.normal(rngs.params(), (max_positions, width), jnp.float32)
        self.table = nnx.Param(init_std * normal)

    def embed(self, positions: Num[Array, "b l"]) -> Float[Array, "b l d"]:
        return lookup(self.table[...], positions)
