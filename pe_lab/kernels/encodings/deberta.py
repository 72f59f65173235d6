"""DeBERTa for consecutive positions, on CPUs and accelerators.

It replaces `content_bias`. The plain form multiplies by every row of the table and gathers the row
of each pair, with a scatter as its gradient. This one multiplies by the rows of the L + S - 1
offsets that occur, and spreads the products without a gather.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.deberta import DeBERTa
from pe_lab.kernels.diagonals import Diagonals, pad_last


def content_bias(
    encoding: DeBERTa,
    diagonals: Diagonals,
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    Q: Tokens,
    K: Tokens,
) -> Float[Array, "b h l s"]:
    if not (Q.arange and K.arange):
        return encoding.content_bias(q, k, Q, K)
    num_terms = 1 + len(encoding.terms)
    scale = 1 / math.sqrt(num_terms * q.shape[-1])
    num_queries = q.shape[1]
    num_keys = k.shape[1]
    terms = []
    if "c2p" in encoding.terms:
        last = num_keys if encoding.two_sided else 1  # in causal attention no key lies ahead
        offsets = range(1 - num_queries, last)
        by_query = _term(encoding, diagonals, scale * q, "c2p", offsets, num_keys)
        terms.append(by_query)
    if "p2c" in encoding.terms:
        first = 1 - num_keys if encoding.two_sided else 0  # nor a query behind
        offsets = range(first, num_queries)
        by_key = _term(encoding, diagonals, scale * k, "p2c", offsets, num_queries)
        terms.append(jnp.swapaxes(by_key, 2, 3))  # [B, H, S, L] -> [B, H, L, S]
    return sum(terms[1:], terms[0])


def _term(
    encoding: DeBERTa,
    diagonals: Diagonals,
    x: Float[Array, "b l h e"],
    term: str,
    offsets: range,
    num_others: int,
) -> Float[Array, "b h l s"]:
    """x of one side against the projected rows of its offsets to the tokens of the other side."""
    sign = 1 if term == "p2c" else -1  # rows are of query position - key position
    distances = sign * jnp.asarray(offsets)
    table = encoding.table[...]
    rows = table[encoding.row(distances)]
    projection = encoding.projections[term]
    vectors = jnp.einsum("od,dhe->ohe", rows, projection[...])
    # A product by example is twice as fast on a CPU.
    vectors = jnp.broadcast_to(vectors, (len(x), *vectors.shape))
    by_offset = jnp.einsum("blhe,bohe->bhlo", x, vectors)
    skipped = x.shape[1] - 1 + offsets.start  # offsets before the first that is computed
    padded = pad_last(by_offset, before=skipped, after=0)
    return diagonals.skew(padded, num_others)
