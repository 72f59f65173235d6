"""Relative position representations: a learned vector for each clipped distance, added to keys.

Equation: q·(k + a[clip(j−i)]).
Beyond training: last row.

Shaw et al. 2018, "Self-Attention with Relative Position Representations", section 3.2,
https://arxiv.org/abs/1803.02155. The paper also adds vectors to values (`values=True`) and finds
that vectors for keys are enough. Its base model has clip 16 and tables for each layer and head. Its
big model has clip 8 and tables for each layer that heads share.

A table has the Xavier initialization of a matrix [2 clip + 1, Dh], whatever the number of heads.
This is TensorFlow's default, which the authors' code (tensor2tensor, common_attention.py) uses.
"""

import math

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative, weighted_sum
from pe_lab.encodings.ops import take_rows
from pe_lab.encodings.requirements import Requirements


class Shaw(AttentionEncoding):
    """logits = q·(k + a[clip(offset)]) / sqrt(Dh).

    With values, w·b[clip(offset)] is added to outputs. Relative. Each layer has its own tables.

    Args:
      clip: distances beyond it share a vector.
      values: also add vectors to the values.
      heads_share: use one table for all heads.
    """

    requirements = Requirements(
        relative=True, whole_positions=True, cross=True, per_layer=True, replaces=("combine",)
    )

    def __init__(
        self,
        *,
        clip: int = 16,
        values: bool = False,
        heads_share: bool = False,
        num_heads: int,
        head_dim: int,
        bidirectional: bool = False,
        rngs: nnx.Rngs,
    ):
        if clip < 1:
            raise ValueError(f"Shaw's clip must be at least 1, got {clip}.")
        # Without batch_axis the heads count as a receptive field, and tables shrink with them.
        start = nnx.initializers.xavier_uniform(batch_axis=0)
        shape = (1 if heads_share else num_heads, 2 * clip + 1, head_dim)
        self.head_dim = head_dim
        self.clip = clip
        self.two_sided = bidirectional
        a = start(rngs.params(), shape, jnp.float32)
        self.key_table = nnx.Param(a)
        value_table = None
        if values:
            b = start(rngs.params(), shape, jnp.float32)
            value_table = nnx.Param(b)
        else:
            self.require(replaces=())  # so that attention can be fused
        self.value_table = value_table

    def index(self, Q: Tokens, K: Tokens) -> Int[Array, "b l s"]:
        """Row of the table for each offset."""
        offset = relative(Q, K)
        clipped_offset = jnp.clip(offset, -self.clip, self.clip)
        return clipped_offset + self.clip

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        """q·a[clip(offset)] / sqrt(Dh): the product with every row, then the row of each key."""
        num_heads, head_dim = q.shape[2:]
        a = self.of_heads(self.key_table, num_heads)
        q = q / math.sqrt(head_dim)
        by_row = jnp.einsum("blhe,hre->bhlr", q, a)  # [B, H, L, R]
        rows = self.index(Q, K)[:, None]
        return take_rows(by_row, rows)

    def combine(
        self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b l h e"]:
        out = weighted_sum(w, v)
        if self.value_table is None:
            return out
        batch, num_heads = w.shape[:2]
        b = self.of_heads(self.value_table, num_heads)
        rows = self.index(Q, K)
        # The reference form. kernels/encodings/shaw.py has no array of this size.
        vectors = b[:, rows]  # [H, B|1, L, S, Dh]
        shape = (num_heads, batch, *vectors.shape[2:])
        vectors = jnp.broadcast_to(vectors, shape)
        vectors = vectors.astype(w.dtype)
        return out + jnp.einsum("bhls,hblse->blhe", w, vectors)

    def of_heads(self, table: nnx.Param, num_heads: int) -> Float[Array, "h r e"]:
        """A table for each head, the same one if heads share it."""
        _, rows, channels = table.shape
        return jnp.broadcast_to(table[...], (num_heads, rows, channels))
