"""Music Transformer's relative attention: a learned vector for each head and distance, met by queries.

Huang et al. 2018, "Music Transformer: Generating Music with Long-Term Structure", section 3.4,
https://arxiv.org/abs/1809.04281. Shaw et al.'s keys, without their clip and with vectors of each head's own.

Beyond its table the authors' code (tensor2tensor, get_relative_embeddings_left) pads with zeros, and their
hyperparameters make the table half as long as the music: so here too a distance without a vector adds nothing.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Shaped

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative, skew


class MusicTransformer(AttentionEncoding):
    """logits = (q·k + q·E[i - j]) / sqrt(Dh), where E[distance] is 0 from max_distance on.

    Relative. Bidirectional attention has vectors for the future too, as many. One table a layer.

    Args:
      max_distance: distances 0..max_distance-1 have vectors; 1024 in the authors' models of 2048 events.
    """

    relative = True
    cross = True
    real_positions = False
    shared = False
    adds_scores = True

    def __init__(self, *, max_distance: int = 1024, num_heads: int, head_dim: int, bidirectional: bool = False, rngs: nnx.Rngs):
        if max_distance < 1:
            raise ValueError(f"MusicTransformer's max_distance must be at least 1, got {max_distance}.")
        self.max_distance, self.two_sided = max_distance, bidirectional
        rows = 2 * max_distance - 1 if bidirectional else max_distance
        self.table = nnx.Param(head_dim**-0.5 * jax.random.normal(rngs.params(), (num_heads, rows, head_dim)))

    def row(self, distances: Shaped[Array, "*o"]) -> tuple[Int[Array, "*o"], Bool[Array, "*o"]]:
        """The table's row for each distance, query position - key position, and whether there is one."""
        inside = distances < self.max_distance
        inside = inside & (distances > -self.max_distance if self.two_sided else distances >= 0)
        return jnp.where(inside, distances + (self.max_distance - 1 if self.two_sided else 0), 0), inside

    def scores(
        self, s: Float[Array, "b h l s"], q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens, mask
    ) -> Float[Array, "b h l s"]:
        q, table = q / math.sqrt(q.shape[-1]), self.table[...]
        if Q.arange and K.arange:
            queries, keys = s.shape[2:]
            row, inside = self.row(-jnp.arange(1 - queries, keys if self.two_sided else 1))
            vectors = jnp.where(inside[None, :, None], jnp.take(table, row, axis=1), 0)
            vectors = jnp.broadcast_to(vectors, (len(q), *vectors.shape))  # a product by example is twice as fast on a CPU
            return s + skew(jnp.einsum("blhe,bhoe->bhlo", q, vectors), keys)
        row, inside = (a[:, None] for a in self.row(-relative(Q, K)))
        by_row = jnp.einsum("blhe,hre->bhlr", q, table)
        return s + jnp.where(inside, jnp.take_along_axis(by_row, jnp.broadcast_to(row, s.shape), axis=-1), 0)
