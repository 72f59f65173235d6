"""Relative position representations: a learned vector for each clipped distance, added to keys.

Shaw et al. 2018, "Self-Attention with Relative Position Representations", section 3.2,
https://arxiv.org/abs/1803.02155. The paper also adds vectors to values (`values=True`) and finds the
keys enough. Its base model has clip 16 and tables for each layer and head; its big model clip 8 and tables for each
layer that heads share.

A table has the Xavier initialization of a matrix [2 clip + 1, Dh], whatever the number of heads.
This is TensorFlow's default, which the authors' code (tensor2tensor, common_attention.py) uses.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative, skew


class Shaw(AttentionEncoding):
    """logits = q·(k + a[clip(offset)]) / sqrt(Dh); with values, outputs gain w·b[clip(offset)].

    Relative, tables of their own for each layer. Queries meet the table before any pair of tokens is looked at: never
    an array of [B, L, S, Dh].

    Args:
      clip: distances beyond it share a vector.
      values: add vectors to the values too.
      heads_share: one table for all heads.
    """

    relative = True
    cross = True
    real_positions = False
    shared = False
    adds_scores = True

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
        self.clip, self.two_sided = clip, bidirectional
        self.key_table = nnx.Param(start(rngs.params(), shape))
        self.value_table = nnx.Param(start(rngs.params(), shape)) if values else None

    def acts_in(self, hook: str) -> bool:
        return super().acts_in(hook) and (hook != "mix" or self.value_table is not None)

    def index(self, Q: Tokens, K: Tokens) -> Int[Array, "b l s"]:
        return jnp.clip(relative(Q, K), -self.clip, self.clip) + self.clip

    def scores(
        self, s: Float[Array, "b h l s"], q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens, mask
    ) -> Float[Array, "b h l s"]:
        by_row = jnp.einsum("blhe,hre->bhlr", q / math.sqrt(q.shape[-1]), self._of_heads(self.key_table, q.shape[2]))
        return s + self._spread(by_row, Q, K)

    def mix(self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens) -> Float[Array, "b l h e"]:
        out = super().mix(w, v, Q, K)
        if self.value_table is None:
            return out
        rows = jnp.zeros((*w.shape[:3], 2 * self.clip + 1), w.dtype)
        (by_row,) = jax.vjp(lambda x: self._spread(x, Q, K), rows)[1](w)  # weights summed by their row
        return out + jnp.einsum("bhlr,hre->blhe", by_row, self._of_heads(self.value_table, w.shape[1]).astype(w.dtype))

    def _of_heads(self, table: nnx.Param, num_heads: int) -> Float[Array, "h r e"]:
        return jnp.broadcast_to(table[...], (num_heads, *table.shape[1:]))

    def _spread(self, by_row: Float[Array, "b h l r"], Q: Tokens, K: Tokens) -> Float[Array, "b h l s"]:
        """What each query has for a row of the table, at the keys of that row."""
        if Q.arange and K.arange:
            queries, keys, middle = by_row.shape[2], K.positions.shape[1], self.clip
            past, future = queries - 1, keys - 1 if self.two_sided else 0  # the longest; a causal future is masked, and left out
            cut = by_row[..., max(middle - past, 0) : middle + 1 + min(future, middle)]
            return skew(jnp.pad(cut, (*[(0, 0)] * 3, (max(past - middle, 0), max(future - middle, 0))), mode="edge"), keys)
        index = self.index(Q, K)[:, None]
        return jnp.take_along_axis(by_row, jnp.broadcast_to(index, (*by_row.shape[:3], index.shape[-1])), axis=-1)
