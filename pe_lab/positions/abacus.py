"""Abacus: each symbol of a number has its index in that number, whatever stands before.

McLeish et al. 2024, "Transformers Can Do Arithmetic with the Right Embeddings",
https://arxiv.org/abs/2405.17399.

The authors' code (mcleish7/arithmetic, abacus.py) draws one shift for the whole batch; here each
example has its own. There the positions go through a learned table of 1024 rows: the encoding
`learned`. Numbers must stand with their least significant digit first, or equal significance does
not mean equal position.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, followed, since, starts


@dataclass(frozen=True)
class Abacus(PositionScheme):
    """The i-th symbol of a run, from 1, has position shift + i; all other tokens have 0.

    A run is of neighbours in structure["symbols"]; it ends where structure["parts"] or the segment
    changes, as a prompt and its blanks are neighbours. The shift is uniform on 0..max_shift for
    each example in training, 0 in evaluation. `bound` allows for one run of all the tokens. The
    streams of an encoder–decoder share their shift.

    Args:
      max_shift: 99 in the authors' code.
    """

    max_shift: int = 99

    ascending = False
    one_draw = True
    follows = "symbols"

    def __post_init__(self):
        if self.max_shift < 0:
            raise ValueError(f"abacus's max_shift must be 0 or more, got {self.max_shift}.")

    def __call__(
        self, keys: Keys, mask: Bool[Array, "b l"], *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l"]:
        symbols = followed(self, structure, "symbols").astype(bool) & mask
        index = since(starts(symbols, structure.get("parts"), segments)) + 1
        if train:
            index += jax.vmap(lambda key: jax.random.randint(key, (), 0, self.max_shift + 1))(keys)[
                :, None
            ]
        return jnp.where(symbols, index, 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return length + self.max_shift * train
