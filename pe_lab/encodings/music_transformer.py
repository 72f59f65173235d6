"""Music Transformer's relative attention: queries times a learned vector of each head and distance.

Equation: q·(k + E_h[i − j]).
Beyond training: 0 beyond the table.

Huang et al. 2018, "Music Transformer: Generating Music with Long-Term Structure", section 3.4,
https://arxiv.org/abs/1809.04281. These are Shaw et al.'s vectors for keys, without the clip and
with separate vectors for each head.

The authors' code (tensor2tensor, get_relative_embeddings_left) pads with zeros beyond its table,
and their hyperparameters make the table half as long as the music. Here, too, a distance without a
vector adds nothing.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Shaped

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.ops import take_rows
from pe_lab.encodings.requirements import Requirements


class MusicTransformer(AttentionEncoding):
    """logits = (q·k + q·E[i - j]) / sqrt(Dh), where E[distance] is 0 from max_distance on.

    Relative. Bidirectional attention also has vectors for the future, the same number of them. Each
    layer has its own table.

    Args:
      max_distance: distances 0..max_distance-1 have vectors; 1024 in the authors' models of 2048
        events.
    """

    requirements = Requirements(relative=True, whole_positions=True, cross=True, per_layer=True)

    def __init__(
        self,
        *,
        max_distance: int = 1024,
        num_heads: int,
        head_dim: int,
        bidirectional: bool = False,
        rngs: nnx.Rngs,
    ):
        if max_distance < 1:
            raise ValueError(
                f"MusicTransformer's max_distance must be at least 1, got {max_distance}."
            )
        self.head_dim = head_dim
        self.max_distance = max_distance
        self.two_sided = bidirectional
        rows = 2 * max_distance - 1 if bidirectional else max_distance
        shape = (num_heads, rows, head_dim)
        normal = jax.random.normal(rngs.params(), shape, jnp.float32)
        self.table = nnx.Param(head_dim**-0.5 * normal)

    def row(self, distances: Shaped[Array, "*o"]) -> tuple[Int[Array, "*o"], Bool[Array, "*o"]]:
        """The table's row for each distance, query position - key position, and if there is one."""
        first = 1 - self.max_distance if self.two_sided else 0
        inside = (distances >= first) & (distances < self.max_distance)
        row = jnp.where(inside, distances - first, 0)
        return row, inside

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        """q·E[i - j] / sqrt(Dh), and 0 where the distance has no vector."""
        distance = -relative(Q, K)
        row, inside = self.row(distance)
        q = q / math.sqrt(q.shape[-1])
        # Products with every row, then the row of each key: no array [B, H, L, S, Dh].
        by_row = jnp.einsum("blhe,hre->bhlr", q, self.table[...])  # [B, H, L, R]
        by_key = take_rows(by_row, row[:, None])
        return jnp.where(inside[:, None], by_key, 0)
