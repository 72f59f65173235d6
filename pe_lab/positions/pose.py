"""PoSE: short examples in two chunks with a gap between, so that training shows all distances of
long ones.

Zhu et al. 2023, "PoSE: Efficient Context Window Extension of LLMs via Positional Skip-wise
Training", https://arxiv.org/abs/2309.10400.

As the authors' code (dwzhu-pku/PoSE, src/train_pose.py): two chunks, the first from position 0. The
code also takes the second chunk's text from further on in a document; here an example keeps its
tokens.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, indices


@dataclass(frozen=True)
class PoSE(PositionScheme):
    """In training the n tokens of an example are two chunks, and the second skips ahead; in
    evaluation token i has position i.

    The first chunk has U{1..(n + 1) // 2} tokens, the skip is U{0..target - n}, drawn for each
    example. What is longer than the target skips nothing.

    Args:
      target: positions of training are 0..target-1; it decides what was seen, so it has no default.
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

        def draw(key, n):
            of_first, of_skip = jax.random.split(key)
            first = jax.random.randint(of_first, (), 1, (n + 1) // 2 + 1)
            return first, jax.random.randint(of_skip, (), 0, jnp.maximum(self.target - n, 0) + 1)

        first, skip = jax.vmap(draw)(keys, mask.sum(axis=1))
        return jnp.where(mask & (index >= first[:, None]), index + skip[:, None], index)[None]

    def bound(self, length: int, train: bool) -> int | float:
        return max(length, self.target) - 1 if train and length > 1 else length - 1
