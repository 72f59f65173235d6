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
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, indices


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
        self, keys: Keys, mask: Bool[Array, "b l"], *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l"]:
        index = indices(mask)
        if not train:
            return index[None]

        # Without room for a skip, max(…, 0) makes it 0.
        def draw(key, n):
            first_key, skip_key = jax.random.split(key)
            first = jax.random.randint(first_key, (), 1, (n + 1) // 2 + 1)
            most = jnp.maximum(self.target - n, 0)
            return first, jax.random.randint(skip_key, (), 0, most + 1)

        first, skip = jax.vmap(draw)(keys, mask.sum(axis=1))
        is_second = mask & (index >= first[:, None])
        return jnp.where(is_second, index + skip[:, None], index)[None]

    def bound(self, length: int, train: bool) -> int | float:
        has_skip = train and length > 1
        return max(length, self.target) - 1 if has_skip else length - 1
