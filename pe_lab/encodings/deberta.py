"""DeBERTa's disentangled attention: content meets a code of the distance in queries and in keys.

He et al. 2020, "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", section 3.1,
https://arxiv.org/abs/2006.03654; logarithmic buckets as in the code of its second and third version
(Hugging Face's deberta_v2, make_log_bucket_position).

As in all its code, both terms read the row of i - j; the paper's equation 4 has j - i in the position-to-content
term. Differs in what is shared: in the original all layers have one table and projections of their own, from the
second version on those of the content; here each layer has its own table and projections, without biases, and all
layers share both with share=True. The table has no norm, and the absolute positions of the mask decoder are left to
another encoding.
"""

import math
from typing import Literal

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, Shaped

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative, skew


class DeBERTa(AttentionEncoding):
    """logits = (q_i·k_j + q_i·W_k P[i - j] + k_j·W_q P[i - j]) / sqrt(3 Dh), P a learned row for each clipped distance.

    Relative, to both sides. Distances from max_distance on share a row with the last before it.

    Args:
      max_distance: k of the paper, rows on a side of the table; 512 in its pre-training.
      buckets: rows on a side if distances share them, half of them exact and the rest growing logarithmically up to
        max_distance; 256 in DeBERTa v3. None: a row for each.
      terms: "c2p", queries with the code, and "p2c", keys with it; with one of them the 3 is a 2.
    """

    relative = True
    cross = True
    real_positions = False
    shared = False
    adds_scores = True

    def __init__(
        self,
        *,
        max_distance: int = 512,
        buckets: int | None = None,
        terms: tuple[Literal["c2p", "p2c"], ...] = ("c2p", "p2c"),
        width: int,
        num_heads: int,
        head_dim: int,
        bidirectional: bool = False,
        rngs: nnx.Rngs,
    ):
        if max_distance < 1:
            raise ValueError(f"DeBERTa's max_distance must be at least 1, got {max_distance}.")
        if buckets is not None and (buckets % 2 or not 2 <= buckets < max_distance):
            raise ValueError(f"DeBERTa's buckets must be even, 2 or more and fewer than max_distance={max_distance}, got {buckets}.")
        if not terms or len(set(terms)) < len(terms):
            raise ValueError(f"DeBERTa needs 'c2p', 'p2c' or both, each once, got {terms}.")
        table, project = nnx.initializers.normal(0.02), nnx.initializers.lecun_normal(in_axis=0, out_axis=(1, 2))
        self.terms, self.two_sided, self.max_distance = terms, bidirectional, max_distance
        self.rows = _rows(max_distance, buckets)
        self.table = nnx.Param(table(rngs.params(), (2 * (buckets or max_distance), width)))
        self.projections = nnx.Dict({t: nnx.Param(project(rngs.params(), (width, num_heads, head_dim))) for t in terms})

    def row(self, distances: Shaped[Array, "*o"]) -> Int[Array, "*o"]:
        """The table's row for each distance, query position - key position."""
        return jnp.asarray(self.rows)[jnp.clip(distances, -self.max_distance, self.max_distance - 1) + self.max_distance]

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return q / math.sqrt(1 + len(self.terms)), k

    def scores(
        self, s: Float[Array, "b h l s"], q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens, mask
    ) -> Float[Array, "b h l s"]:
        scale = 1 / math.sqrt((1 + len(self.terms)) * q.shape[-1])
        if "c2p" in self.terms:
            s = s + self._met(scale * q, "c2p", Q, K)
        if "p2c" in self.terms:
            s = s + jnp.swapaxes(self._met(scale * k, "p2c", K, Q), 2, 3)
        return s

    def _met(self, x, term: str, X: Tokens, Y: Tokens):
        """x of one side against the code of its distance to each token of the other, [B, H, X, Y]."""
        projection, sign = self.projections[term][...], 1 if term == "p2c" else -1
        if X.arange and Y.arange:
            own, others = x.shape[1], Y.positions.shape[1]
            first, end = (1 - own, others) if self.two_sided else (1 - own, 1) if term == "c2p" else (0, others)
            code = jnp.einsum("od,dhe->ohe", self.table[...][self.row(sign * jnp.arange(first, end))], projection)
            code = jnp.broadcast_to(code, (len(x), *code.shape))  # a product by example is twice as fast on a CPU
            met = jnp.einsum("blhe,bohe->bhlo", x, code)
            return skew(jnp.pad(met, ((0, 0), (0, 0), (0, 0), (own - 1 + first, 0))), others)
        row = self.row(sign * relative(X, Y))[:, None]
        by_row = jnp.einsum("blhe,rhe->bhlr", x, jnp.einsum("rd,dhe->rhe", self.table[...], projection))
        return jnp.take_along_axis(by_row, jnp.broadcast_to(row, (*by_row.shape[:3], row.shape[-1])), axis=-1)


def _rows(max_distance: int, buckets: int | None) -> tuple[int, ...]:
    """Of distances -max_distance..max_distance-1."""
    distances = np.arange(-max_distance, max_distance)
    if buckets is None:
        return tuple((distances + max_distance).tolist())
    exact, size = buckets // 2, np.maximum(np.abs(distances), 1)
    beyond = exact + np.ceil(np.log(size / exact) / np.log((max_distance - 1) / exact) * (exact - 1))
    found = np.where(size <= exact, distances, np.sign(distances) * beyond).astype(int)
    return tuple(np.clip(found + buckets, 0, 2 * buckets - 1).tolist())
