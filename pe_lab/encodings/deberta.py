"""DeBERTa's disentangled attention: queries and keys are compared with embeddings of the distance.

Equation: (q·k + q·W_k P[i−j] + k·W_q P[i−j]) / √3.
Beyond training: last row.

He et al. 2020, "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", section 3.1,
https://arxiv.org/abs/2006.03654; logarithmic buckets as in the code of its second and third version
(Hugging Face's deberta_v2, make_log_bucket_position).

As in all of its code, both terms read the row of i - j. The paper's equation 4 has j - i in the
position-to-content term.

Differs in what layers share. In the original all layers have one table, and each layer has its own
projections, which from the second version on also project the content. Here each layer has its own
table and projections, without biases, and share=True shares both among all layers. The table has no
norm. The absolute positions of the original's mask decoder are not included.
"""

import math
from typing import Literal

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, Shaped

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.ops import take_rows
from pe_lab.encodings.requirements import Requirements


class DeBERTa(AttentionEncoding):
    """logits = (q_i·k_j + q_i·W_k P[i - j] + k_j·W_q P[i - j]) / sqrt(3 Dh).

    P is a table with a learned row for each clipped distance. Relative, on both sides. Distances of
    max_distance and more share the last row.

    Args:
      max_distance: k of the paper, rows on each side of the table; 512 in its pre-training.
      buckets: rows on each side if distances share them. Half of them hold one distance each, and
        the others grow logarithmically up to max_distance; 256 in DeBERTa v3. None: one row for
        each distance.
      terms: "c2p", queries with the embedding of the distance, and "p2c", keys with it. With one
        term, 3 in the formula is 2.
    """

    requirements = Requirements(relative=True, whole_positions=True, cross=True, per_layer=True)

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
            raise ValueError(
                f"DeBERTa's buckets must be even, 2 or more and fewer than "
                f"max_distance={max_distance}, got {buckets}."
            )
        if not terms or len(set(terms)) < len(terms):
            raise ValueError(f"DeBERTa needs 'c2p', 'p2c' or both, each once, got {terms}.")
        self.head_dim = head_dim
        self.terms = terms
        self.two_sided = bidirectional
        self.max_distance = max_distance
        self.rows = _rows(max_distance, buckets)
        num_rows = 2 * (buckets or max_distance)
        normal = nnx.initializers.normal(0.02)
        # The fan-in is D; the other two axes together are the outputs.
        lecun_normal = nnx.initializers.lecun_normal(in_axis=0, out_axis=(1, 2))
        table = normal(rngs.params(), (num_rows, width), jnp.float32)
        self.table = nnx.Param(table)
        projections = {}
        for term in terms:
            matrix = lecun_normal(rngs.params(), (width, num_heads, head_dim), jnp.float32)
            projections[term] = nnx.Param(matrix)
        self.projections = nnx.Dict(**projections)

    def row(self, distances: Shaped[Array, "*o"]) -> Int[Array, "*o"]:
        """The table's row for each distance, query position - key position."""
        clipped_distances = jnp.clip(distances, -self.max_distance, self.max_distance - 1)
        index = clipped_distances + self.max_distance
        return jnp.asarray(self.rows)[index]

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        num_terms = 1 + len(self.terms)  # q·k is one of them
        return q / math.sqrt(num_terms), k  # `attend` divides by sqrt(Dh)

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        """q·W_k P and k·W_q P, each at the row of i - j."""
        num_terms = 1 + len(self.terms)
        scale = 1 / math.sqrt(num_terms * q.shape[-1])
        distance = -relative(Q, K)
        rows = self.row(distance)[:, None]  # [B|1, 1, L, S]
        terms = []
        if "c2p" in self.terms:
            W_k_P = self.projected("c2p")
            by_row = jnp.einsum("blhe,rhe->bhlr", scale * q, W_k_P)  # [B, H, L, R]
            terms.append(take_rows(by_row, rows))
        if "p2c" in self.terms:
            W_q_P = self.projected("p2c")
            by_row = jnp.einsum("bshe,rhe->bhsr", scale * k, W_q_P)  # [B, H, S, R]
            # Keys read rows here, so queries and keys change places.
            rows_of_keys = jnp.swapaxes(rows, 2, 3)
            by_key = take_rows(by_row, rows_of_keys)  # [B, H, S, L]
            terms.append(jnp.swapaxes(by_key, 2, 3))
        return sum(terms[1:], terms[0])

    def projected(self, term: str) -> Float[Array, "r h e"]:
        """The table's rows times W_k (c2p) or W_q (p2c)."""
        projection = self.projections[term][...]
        return jnp.einsum("rd,dhe->rhe", self.table[...], projection)


def _rows(max_distance: int, buckets: int | None) -> tuple[int, ...]:
    """Row of each distance in -max_distance..max_distance-1."""
    distances = np.arange(-max_distance, max_distance)
    if buckets is None:
        return tuple((distances + max_distance).tolist())
    exact = buckets // 2  # up to this distance each has its own row
    size = np.maximum(np.abs(distances), 1)
    largest = max_distance - 1
    share = np.log(size / exact) / np.log(largest / exact)
    beyond = exact + np.ceil(share * (exact - 1))
    signed_bucket = np.sign(distances) * beyond
    bucket = np.where(size <= exact, distances, signed_bucket)
    bucket = bucket.astype(int)
    last_row = 2 * buckets - 1
    rows = np.clip(bucket + buckets, 0, last_row)
    return tuple(rows.tolist())
