"""Position coupling: tokens that belong together have the same position.

Position of token t of n: start + a number shared with the tokens it belongs to.
Draws: in training.

Cho et al. 2024, "Position Coupling: Improving Length Generalization of Arithmetic Transformers
Using Task Structure", https://arxiv.org/abs/2405.20671.

Checked against the authors' code (HanseulJo/position-coupling, src/data/copy.py and addition.py),
where each data set defines its own ids; here they follow from the alignment of a task. There the
first token has position 0; here it has the start, like every token that belongs to no other.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, required


@dataclass(frozen=True)
class Coupled(PositionScheme):
    """A token has position start + c, with its number c in structure["coupled"] (0 for none).

    In training the start is uniform on 1..max_position - (the example's largest c) for each
    example. In evaluation, or if that range is empty, it is 1. `bound` assumes numbers up to the
    example's tokens. The two sequences of an encoder–decoder have the same start if their largest
    numbers are equal, as in copying.

    Args:
      max_position: the largest position in training. It determines which positions are seen, so
        it has no default. In the authors' code (b9cad94) the data set classes default to 23 for
        addition and 30 for copying; their YAML files set 132 for addition of up to 40 digits
        and 21 for copying of up to 10.
    """

    max_position: int

    ascending = False
    one_draw = True
    follows = "coupled"

    def __post_init__(self):
        if self.max_position < 1:
            raise ValueError(f"coupled's max_position must be at least 1, got {self.max_position}.")

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        numbers = jnp.where(mask, required(self, structure, "coupled"), 0)
        if not train:
            return jnp.where(mask, numbers + 1, 0)[None]

        def draw(key, largest):
            # If the numbers exceed max_position, the only choice is 1.
            last_start = jnp.maximum(self.max_position - largest, 1)
            return jax.random.randint(key, (), 1, last_start + 1)

        largest = numbers.max(axis=1)
        start = jax.vmap(draw)(keys, largest)
        positions = numbers + start[:, None]
        return jnp.where(mask, positions, 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        if train:
            return max(length + 1, self.max_position)
        return length + 1
