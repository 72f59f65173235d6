"""Shaw's keys and values for consecutive positions, on CPUs and accelerators.

They replace `content_bias` and `combine`. The plain forms gather a row of the table for each pair:
products by row for keys, and vectors [L, S, Dh] for values. These spread rows over offsets without
a gather, and sum weights by row before they multiply by vectors.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pe_lab.encodings.base import Tokens, weighted_sum
from pe_lab.encodings.ops import take_rows
from pe_lab.encodings.shaw import Shaw
from pe_lab.kernels.diagonals import Diagonals


def content_bias(
    encoding: Shaw,
    diagonals: Diagonals,
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "b h l s"]:
    num_heads, head_dim = q.shape[2:]
    table = encoding.of_heads(encoding.key_table, num_heads)
    q = q / math.sqrt(head_dim)
    by_row = jnp.einsum("blhe,hre->bhlr", q, table)
    return _spread(encoding, diagonals, by_row, Q, K)


def combine(
    encoding: Shaw,
    diagonals: Diagonals,
    w: Float[Array, "b h l s"],
    v: Float[Array, "b s h e"],
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "b l h e"]:
    """Weights are summed by their row of the table, which is the transpose of spreading rows."""
    out = weighted_sum(w, v)
    if encoding.value_table is None:
        return out
    batch, num_heads, num_queries, _ = w.shape
    num_rows = 2 * encoding.clip + 1
    rows = jnp.zeros((batch, num_heads, num_queries, num_rows), w.dtype)

    def spread(by_row: Float[Array, "b h l r"]) -> Float[Array, "b h l s"]:
        return _spread(encoding, diagonals, by_row, Q, K)

    # Spreading is linear, so its transpose does not depend on `rows`.
    _, transpose = jax.vjp(spread, rows)
    (by_row,) = transpose(w)
    table = encoding.of_heads(encoding.value_table, num_heads)
    table = table.astype(w.dtype)
    return out + jnp.einsum("bhlr,hre->blhe", by_row, table)


def _spread(
    encoding: Shaw,
    diagonals: Diagonals,
    by_row: Float[Array, "b h l r"],
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "b h l s"]:
    """Each query's value for a row of the table, at the keys of that row."""
    if not (Q.arange and K.arange):
        rows = encoding.index(Q, K)[:, None]
        return take_rows(by_row, rows)
    clip = encoding.clip
    num_queries = by_row.shape[2]
    num_keys = K.positions.shape[1]
    furthest_back = num_queries - 1
    # In causal attention the future is masked, so its offsets are left out.
    furthest_ahead = num_keys - 1 if encoding.two_sided else 0
    first = max(clip - furthest_back, 0)
    last = clip + 1 + min(furthest_ahead, clip)
    # Offsets beyond the clip repeat the outer rows.
    beyond_back = max(furthest_back - clip, 0)
    beyond_ahead = max(furthest_ahead - clip, 0)
    widths = ((0, 0), (0, 0), (0, 0), (beyond_back, beyond_ahead))
    by_offset = jnp.pad(by_row[..., first:last], widths, mode="edge")
    return diagonals.skew(by_offset, num_keys)
