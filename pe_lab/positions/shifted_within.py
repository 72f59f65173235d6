"""Contiguous positions with a random start in training, which trains all positions below a total.

Position of token t of n: t + U{0..total - n}.
Draws: in training.

Huang et al. 2024, "A Formal Framework for Understanding Length Generalization in Transformers",
https://arxiv.org/abs/2410.02140. Checked against the authors' code
(lacoco-lab/length_generalization at 790f068, algorithmic/language_modeling_train.py), where the
offset of an example of length n is uniform on 0..150 - n if the answer is one token, and on
0..2 (150 - n) if it is as long as the prompt. Both are this scheme, with the number of tokens of
the longest test as the total.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, indices


@dataclass(frozen=True)
class ShiftedWithin(PositionScheme):
    """Token i has position start + i.

    The start is uniform on 0..total - n for each example of n tokens in training, and 0 in
    evaluation. An example with more tokens than the total starts at 0.

    Args:
      total: the number of positions. It determines which positions are seen, so it has no default.
    """

    total: int

    keeps_differences = True

    def __post_init__(self):
        if self.total < 1:
            raise ValueError(f"shifted_within's total must be at least 1, got {self.total}.")

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        if not train:
            return indices(mask)[None]

        def draw(key, largest):
            return jax.random.randint(key, (), 0, largest + 1)

        num_tokens = mask.sum(axis=1)
        # An example with more tokens than the total has no choice.
        largest_start = jnp.maximum(self.total - num_tokens, 0)
        start = jax.vmap(draw)(keys, largest_start)
        positions = indices(mask) + start[:, None]
        return jnp.where(mask, positions, 0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        if train:
            return max(length, self.total) - 1
        return length - 1
