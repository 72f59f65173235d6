"""Random float sampling: sorted random fractions of a fixed range, for any length.

Position of token t of n: t-th of n sorted uniform reals.
Draws: in training.

Shimizu, Taniguchi and Matsuo 2026, "Position Encoding with Random Float Sampling Enhances Length
Generalization of Transformers", https://arxiv.org/abs/2602.14050.

The definition follows a digest that quotes section 3 and algorithm 1; the paper itself was not
available. `maximum` is not part of the paper, whose range is [0, 1): most encodings here expect
positions in tokens, not in fractions.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, indices


@dataclass(frozen=True)
class RandomFloats(PositionScheme):
    """In training the n tokens have n sorted uniform numbers of [0, maximum).

    In evaluation token i, from 1, has the middle of part i of N equal parts of the range,
    maximum * (2 i - 1) / (2 N), where N is the larger of n and `train_length`.

    Args:
      train_length: N in evaluation of examples that are no longer: the number of tokens of the
        longest training example.
      maximum: the end of the range; 1 in the paper.
    """

    train_length: int
    maximum: float = 1.0

    real = True
    reads_length = True

    def __post_init__(self):
        if self.train_length < 1:
            raise ValueError(
                f"random_floats's train_length must be at least 1, got {self.train_length}."
            )
        if self.maximum <= 0:
            raise ValueError(f"random_floats's maximum must be more than 0, got {self.maximum:g}.")

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        def draw(key):
            return jax.random.uniform(key, mask.shape[1:], jnp.float32)

        if train:
            uniform = jax.vmap(draw)(keys)
            uniform = jnp.where(mask, uniform, jnp.inf)  # padding last
            fraction = jnp.sort(uniform, axis=1)
        else:
            length = mask.sum(axis=1, keepdims=True)
            num_parts = jnp.maximum(length, self.train_length)
            fraction = (2 * indices(mask) + 1) / (2 * num_parts)
            fraction = fraction.astype(jnp.float32)
        return jnp.where(mask, self.maximum * fraction, 0.0)[None]

    def bound(self, length: int, train: bool) -> int | float:
        if train:
            return self.maximum
        num_parts = max(length, self.train_length)
        return self.maximum * (2 * length - 1) / (2 * num_parts)
