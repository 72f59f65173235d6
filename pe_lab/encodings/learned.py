"""Learned absolute positions: a table with one trained row a position.

Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", https://arxiv.org/abs/1705.03122;
in Transformers Devlin et al. 2018 (BERT), https://arxiv.org/abs/1810.04805, whose 512 rows and
normal(0.02) start are the defaults.

Differs from most code, which clamps a position beyond the table to its last row: here it is NaN,
and training beyond the table is refused.
"""

import jax
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import InputEncoding, lookup


class Learned(InputEncoding):
    """code(p) = table[p].

    Args:
      max_positions: rows of the table; positions 0..max_positions-1 have a code.
      init_std: of the table's normal start.
    """

    real_positions = False

    def __init__(self, *, max_positions: int = 512, init_std: float = 0.02, width: int, rngs: nnx.Rngs, **rest):
        if max_positions < 1:
            raise ValueError(f"Learned needs at least one position, got max_positions={max_positions}.")
        super().__init__(width, width=width, rngs=rngs, **rest)
        self.max_positions = max_positions
        self.table = nnx.Param(init_std * jax.random.normal(rngs.params(), (max_positions, width)))

    def code(self, positions: Num[Array, "b l"]) -> Float[Array, "b l d"]:
        return lookup(self.table[...], positions)
