"""Randomized positions: an ordered random subset of a range far longer than any example.

Ruoss et al. 2023, "Randomized Positional Encodings Boost Length Generalization of Transformers",
section 3, https://arxiv.org/abs/2305.16843.

The authors' code (google-deepmind/randomized_positional_encodings) draws once a batch, at test as
well, and inside attention once more for each layer; the last two are the fields `per` and
`per_layer`. In evaluation every example has a draw of its own, so that its result does not hang on
its neighbours. The subset has the example's true length, which tells a decoder roughly how long its
answer will be.

For ALiBi and relative encodings the authors randomize distances, not positions. NOISY_ALIBI and
NOISY_RELATIVE draw one sorted set of distances (optionally another one for the future), and every
query has its k-th neighbor at the k-th distance of that set. Within a draw their positional terms
depend on j - i alone. Here positions are drawn for every encoding, and a distance is the
difference of two positions, so the k-th neighbors of two queries lie at different distances.
Absolute encodings and RoPE read positions in both codes and do not differ.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Num

from pe_lab.positions.base import Keys, PositionScheme, sorted_subset


@dataclass(frozen=True)
class Randomized(PositionScheme):
    """The n tokens of an example get n of the positions 0..maximum-1, ascending.

    Args:
      maximum: the size of the range; 2048 in the paper.
      per: in training, draw for every "example", or once a "batch", as in the paper (for the
        longest example; shorter ones take its first positions).
      per_layer: draw anew for each layer; the input side reads layer 0's.
      num_layers: N of the draw, given by the model.
    """

    maximum: int = 2048
    per: Literal["example", "batch"] = "batch"
    per_layer: bool = False
    num_layers: int = 1

    reads_length = True

    def __post_init__(self):
        if self.maximum < 1:
            raise ValueError(f"randomized's maximum must be at least 1, got {self.maximum}.")

    @property
    def max_length(self) -> int:  # type: ignore[override]
        return self.maximum

    def __call__(
        self, keys: Keys, mask: Bool[Array, "b l"], *, segments=None, structure=None, train: bool
    ) -> Num[Array, "n _ l"]:
        lengths = mask.sum(axis=1)
        if train and self.per == "batch":
            keys, lengths = keys[:1], lengths.max(keepdims=True)
        rows = self.num_layers if self.per_layer else 1

        def draw(key, size):
            layer_keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(rows))
            return jax.vmap(lambda k: sorted_subset(k, size, self.maximum, mask.shape[1]))(
                layer_keys
            )

        drawn = jax.vmap(draw, out_axes=1)(keys, lengths)  # [N, B|1, L]
        return jnp.where(mask[None], drawn, 0)

    def bound(self, length: int, train: bool) -> int | float:
        return self.maximum - 1
