"""Relative position representations: a learned vector for each clipped distance, added to keys.

Shaw et al. 2018, "Self-Attention with Relative Position Representations", section 3.2,
https://arxiv.org/abs/1803.02155. The paper also adds vectors to values (`values=True`) and finds the
keys enough.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative


class Shaw(AttentionEncoding):
    """logits = q·(k + a[clip(offset)]) / sqrt(Dh); with values, outputs gain w·b[clip(offset)].

    One pair of tables a layer, shared by its heads. Never holds [B, L, S, Dh]: where positions are the
    whole batch's, rows are gathered once, [L, S, Dh]; elsewhere q meets the table before the gather.

    Args:
      clip: distances beyond it share a vector.
      values: add vectors to the values too.
    """

    relative = True
    cross = True
    real_positions = False
    shared = False

    def __init__(self, *, clip: int = 16, values: bool = False, head_dim: int, rngs: nnx.Rngs):
        if clip < 1:
            raise ValueError(f"Shaw's clip must be at least 1, got {clip}.")
        start, shape = nnx.initializers.xavier_uniform(), (2 * clip + 1, head_dim)
        self.clip = clip
        self.key_table = nnx.Param(start(rngs.params(), shape))
        self.value_table = nnx.Param(start(rngs.params(), shape)) if values else None

    def index(self, Q: Tokens, K: Tokens) -> Int[Array, "b l s"]:
        return jnp.clip(relative(Q, K), -self.clip, self.clip) + self.clip

    def scores(
        self, s: Float[Array, "b h l s"], q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens, mask
    ) -> Float[Array, "b h l s"]:
        index, table = self.index(Q, K), self.key_table[...]
        if index.shape[0] == 1:
            added = jnp.einsum("blhe,lse->bhls", q, jnp.take(table, index[0], axis=0))
        else:
            by_row = jnp.einsum("blhe,re->bhlr", q, table)
            added = jnp.take_along_axis(by_row, jnp.broadcast_to(index[:, None], s.shape), axis=-1)
        return s + added / math.sqrt(q.shape[-1])

    def mix(self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens) -> Float[Array, "b l h e"]:
        out = super().mix(w, v, Q, K)
        if self.value_table is None:
            return out
        index, table = self.index(Q, K), self.value_table[...].astype(w.dtype)
        if index.shape[0] == 1:
            return out + jnp.einsum("bhls,lse->blhe", w, jnp.take(table, index[0], axis=0))
        of_row = jax.nn.one_hot(index, table.shape[0], dtype=w.dtype)  # [B, L, S, R]
        return out + jnp.einsum("bhls,blsr,re->blhe", w, of_row, table)
