"""Randomized positions: a sorted random subset of a range far longer than any example.

Position of token t of n: t-th of a sorted n-subset of 0..maximum−1.
Draws: always.

Ruoss et al. 2023, "Randomized Positional Encodings Boost Length Generalization of Transformers",
section 3, https://arxiv.org/abs/2305.16843.

The authors' code (google-deepmind/randomized_positional_encodings) draws once per batch, in testing
too, and once more for each layer inside attention; the fields `per` and `per_layer` are these two
choices. In evaluation every example here has its own draw, so that its result does not depend on
the other examples of its batch. The subset has the example's true length, which roughly reveals the
length of the answer to a decoder.

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

from pe_lab.positions.base import Keys, Mask, Positions, PositionScheme, sorted_subset


@dataclass(frozen=True)
class Randomized(PositionScheme):
    """The n tokens of an example get n of the positions 0..maximum-1, ascending.

    Args:
      maximum: the size of the range; 2048 in the paper.
      per: in training, one draw for every "example", or for the "batch", as in the paper. The
        batch's draw has the length of the longest example; shorter ones use its first positions.
      per_layer: one draw for each layer; encodings of the input use the first layer's.
      num_layers: N of the draws, set by the model.
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
        self, keys: Keys, mask: Mask, *, segments=None, structure=None, train: bool
    ) -> Positions:
        lengths = mask.sum(axis=1)
        if train and self.per == "batch":
            # One row of positions broadcasts over the batch.
            keys = keys[:1]
            lengths = lengths.max(keepdims=True)
        num_rows = self.num_layers if self.per_layer else 1

        def draw(key, size):
            def draw_row(row):
                # fold_in, so that a row does not depend on the number of rows.
                row_key = jax.random.fold_in(key, row)
                return sorted_subset(row_key, size, self.maximum, mask.shape[1])

            return jax.vmap(draw_row)(jnp.arange(num_rows))

        positions = jax.vmap(draw, out_axes=1)(keys, lengths)  # [N, B|1, L]
        return jnp.where(mask[None], positions, 0)

    def bound(self, length: int, train: bool) -> int | float:
        return self.maximum - 1
