"""Position coupling: tokens that belong together share a position.

Cho et al. 2024, "Position Coupling: Improving Length Generalization of Arithmetic Transformers
Using Task Structure", https://arxiv.org/abs/2405.20671.

Checked in the authors' code (HanseulJo/position-coupling, src/data/copy.py and addition.py), where
a data set writes its own ids; here a task says by its alignment what belongs together. There the
token before the first is at 0; here it has the start, as every token has that belongs to none.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, followed


@dataclass(frozen=True)
class Coupled(PositionScheme):
    """A token has position start + c, c its number in structure["coupled"], which is 0 for what
    belongs to no other.

    In training the start is uniform on 1..max_position - (the example's largest c) for each
    example; in evaluation, and where that leaves no choice, it is 1. `bound` allows for numbers up
    to the example's tokens. The streams of an encoder–decoder share their start where their largest
    numbers are equal, as in copying.

    Args:
      max_position: the largest position of training. It decides which positions are seen, so it
        has no default. In the authors' code (b9cad94) the data set classes default to 23 for
        addition and 30 for copying; the configs set 132 for addition of up to 40 digits and 21
        for copying of up to 10.
    """

    max_position: int

    ascending = False
    one_draw = True
    follows = "coupled"

    def __post_init__(self):
        if self.max_position < 1:
            raise ValueError(f"coupled's max_position must be at least 1, got {self.max_position}.")

    def __call__(
        self, keys: Keys, mask: Bool[Array, "b l"], *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l"]:
        numbers = jnp.where(mask, followed(self, structure, "coupled"), 0)
        if not train:
            return jnp.where(mask, numbers + 1, 0)[None]

        def draw(key, largest):
            return jax.random.randint(key, (), 1, jnp.maximum(self.max_position - largest, 1) + 1)

        start = jax.vmap(draw)(keys, numbers.max(axis=1))
        return jnp.where(mask, numbers + start[:, None], 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return max(length + 1, self.max_position) if train else length + 1
