"""PoSE: short examples in two chunks with a gap, so that training covers long distances.

Position of token t of n: t, with a gap before the second of two chunks.
Draws: in training.

Zhu et al. 2023, "PoSE: Efficient Context Window Extension of LLMs via Positional Skip-wise
Training", https://arxiv.org/abs/2309.10400.

Like the authors' code (dwzhu-pku/PoSE, src/train_pose.py): two chunks, the first one from position
0. The code also takes the second chunk's text from further on in a document; here an example keeps
its tokens.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, indices


@dataclass(frozen=True)
class PoSE(PositionScheme):
    """In training the second of two chunks skips ahead; in evaluation token i has position i.

    Of n tokens the first chunk has U{1..(n + 1) // 2}, and the skip is U{0..target - n}, drawn for
    each example. Examples longer than the target have no skip.

    Args:
      target: training positions are 0..target-1. It determines which positions are seen, so it has
        no default.
    """

    target: int

    def __post_init__(self):
        if self.target < 1:
            raise ValueError(f"pose's target must be at least 1, got {self.target}.")

    def __call__(
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        index = indices(mask)
        if not train:
            return index[None]

        def draw(key, num_tokens):
            first_key, skip_key = jax.random.split(key)
            longest_first = (num_tokens + 1) // 2
            first = jax.random.randint(first_key, (), 1, longest_first + 1)
            # An example longer than the target has no skip.
            largest_skip = jnp.maximum(self.target - num_tokens, 0)
            skip = jax.random.randint(skip_key, (), 0, largest_skip + 1)
            return first, skip

        num_tokens = mask.sum(axis=1)
        first, skip = jax.vmap(draw)(keys, num_tokens)
        is_second = mask & (index >= first[:, None])
        index_after_skip = index + skip[:, None]
        positions = jnp.where(is_second, index_after_skip, index)
        return positions[None]

    def bound(self, length: int, train: bool) -> int | float:
        if train and length > 1:  # one token has no second chunk
            return max(length, self.target) - 1
        return length - 1
