"""CoPE with a gradient of its own, on CPUs and accelerators.

It replaces `transform_logits`. The forward pass is the same. The plain form's gradient adds to the
rows of the table by a scatter; here it is a product, which is ten times faster on a CPU.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.cope import CoPE, interpolate
from pe_lab.kernels.diagonals import Diagonals

Rows = Float[Array, "b h l p"]  # a number for each query and row of the table
Pairs = Float[Array, "b h l s"]
Saved = tuple[Rows, Pairs]

_QUERIES = 64  # whose gradients are summed at once: few enough for a processor's cache


def transform_logits(
    encoding: CoPE,
    diagonals: Diagonals,
    s: Float[Array, "b h l s"],
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    Q: Tokens,
    K: Tokens,
    mask: Bool[Array, "_ _ l s"],
) -> Float[Array, "b h l s"]:
    table = encoding.scale * encoding.table[...]
    by_row = jnp.einsum("blhe,pe->bhlp", q, table)
    counts = encoding.counts(s, mask)
    return s + _interpolate(by_row, counts)


@jax.custom_vjp
def _interpolate(by_row: Rows, count: Pairs) -> Pairs:
    return interpolate(by_row, count)


def _forward(by_row: Rows, count: Pairs) -> tuple[Pairs, Saved]:
    return interpolate(by_row, count), (by_row, count)


def _backward(saved: Saved, g: Pairs) -> tuple[Rows, Pairs]:
    """The gradient of each query's rows is a product of g with the weights of interpolation."""
    by_row, count = saved
    num_rows = by_row.shape[-1]
    num_keys = count.shape[-1]
    rows = jnp.arange(num_rows, dtype=by_row.dtype)

    def gradient_of_query(
        arguments: tuple[Float[Array, "s"], Float[Array, "s"]],
    ) -> Float[Array, "p"]:
        count, g = arguments
        # A row's weight falls linearly from 1 at its count to 0 at the neighboring counts.
        distance = jnp.abs(count[:, None] - rows[None])  # [S, P]
        weights = jnp.maximum(1 - distance, 0)
        return g @ weights

    counts = count.reshape(-1, num_keys)
    gradients = g.reshape(-1, num_keys)
    by_query = jax.lax.map(gradient_of_query, (counts, gradients), batch_size=_QUERIES)
    by_row_gradient = by_query.reshape(by_row.shape)
    last_row = by_row[..., -1:]
    slopes = jnp.diff(by_row, axis=-1, append=last_row)  # 0 after the last row
    below = jnp.floor(count).astype(jnp.int32)
    slope = jnp.take_along_axis(slopes, below, axis=-1)
    return by_row_gradient, g * slope


_interpolate.defvjp(_forward, _backward)
