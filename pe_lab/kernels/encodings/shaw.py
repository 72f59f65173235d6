"""Shaw's keys and values: rows of the table are spread over offsets without a gather."""

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
    table = encoding.of_heads(encoding.key_table, q.shape[2])
    by_row = jnp.einsum("blhe,hre->bhlr", q / math.sqrt(q.shape[-1]), table)
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
    rows = jnp.zeros((*w.shape[:3], 2 * encoding.clip + 1), w.dtype)
    _, transpose = jax.vjp(lambda x: _spread(encoding, diagonals, x, Q, K), rows)
    (by_row,) = transpose(w)
    table = encoding.of_heads(encoding.value_table, w.shape[1]).astype(w.dtype)
    return out + jnp.einsum("bhlr,hre->blhe", by_row, table)


def _spread(
    encoding: Shaw, diagonals: Diagonals, by_row: Float[Array, "b h l r"], Q: Tokens, K: Tokens
) -> Float[Array, "b h l s"]:
    """Each query's value for a row of the table, at the keys of that row."""
    if not (Q.arange and K.arange):
        return take_rows(by_row, encoding.index(Q, K)[:, None])
    num_queries, num_keys, clip = by_row.shape[2], K.positions.shape[1], encoding.clip
    furthest_back = num_queries - 1
    # In causal attention the future is masked, so its offsets are left out.
    furthest_ahead = num_keys - 1 if encoding.two_sided else 0
    first = max(clip - furthest_back, 0)
    last = clip + 1 + min(furthest_ahead, clip)
    beyond = (max(furthest_back - clip, 0), max(furthest_ahead - clip, 0))
    by_offset = jnp.pad(by_row[..., first:last], ((0, 0), (0, 0), (0, 0), beyond), mode="edge")
    return diagonals.skew(by_offset, num_keys)
