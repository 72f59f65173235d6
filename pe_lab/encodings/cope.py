"""CoPE: positions that count tokens by their content, as each query sees it.

Golovneva et al. 2024, "Contextual Position Encoding: Learning to Count What's Important",
https://arxiv.org/abs/2405.18719.

The paper's listing adds q·e to logits that are scaled already; its authors' code (facebookresearch/RAM,
projects/cope) also divides q·e by sqrt(Dh) unless told not to: `scaled=True`. Neither fixes the number of
positions; that code takes the context's length plus one. As in the listing, gates read the logits as they
stand: q·k / sqrt(Dh), and what encodings before it in a chain have made of them.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens

_ROWS = 64  # queries whose gradients are summed at once: few enough for a processor's cache


class CoPE(AttentionEncoding):
    """logits += q·e[p_ij], where p_ij sums sigmoid(logits) over the keys from j to the query, and e is interpolated between rows.

    Relative, and it reads no positions: the query's own key counts too, so p_ii is its gate and not 0. A count
    beyond the last row is that row, so longer contexts are defined. Vectors are shared by heads and start at 0.
    Causal only: keys are summed in their order, up to the query.

    Args:
      num_positions: rows of the table, for counts 0..num_positions-1.
      scaled: divide q·e by sqrt(Dh), as q·k.
    """

    relative = True
    reads_positions = False
    bidirectional = False
    shared = False

    def __init__(self, *, num_positions: int = 64, scaled: bool = False, head_dim: int):
        if num_positions < 2:
            raise ValueError(f"CoPE interpolates between rows, so it needs two positions or more, got {num_positions}.")
        self.scale = 1 / math.sqrt(head_dim) if scaled else 1.0
        self.table = nnx.Param(jnp.zeros((num_positions, head_dim)))

    def counts(self, s: Float[Array, "b h l s"], mask: Bool[Array, "_ _ l s"]) -> Float[Array, "b h l s"]:
        """p: for each query the sum of its gates from each key on, at most the last row's."""
        gates = jnp.where(mask, jax.nn.sigmoid(s), 0.0)
        return jnp.minimum(jax.lax.cumsum(gates, axis=3, reverse=True), self.table.shape[0] - 1.0)

    def scores(
        self,
        s: Float[Array, "b h l s"],
        q: Float[Array, "b l h e"],
        k: Float[Array, "b s h e"],
        Q: Tokens,
        K: Tokens,
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        of_row = jnp.einsum("blhe,pe->bhlp", q, self.scale * self.table[...])
        return s + _interpolated(of_row, self.counts(s, mask))


@jax.custom_vjp
def _interpolated(z: Float[Array, "b h l p"], at: Float[Array, "b h l s"]) -> Float[Array, "b h l s"]:
    """Each row of z, linear between its columns, at places within 0..P-1."""
    return _forward(z, at)[0]


def _forward(z, at):
    below = jnp.floor(at)
    value, slope = (jnp.take_along_axis(a, below.astype(jnp.int32), axis=-1) for a in (z, _slopes(z)))
    return value + (at - below) * slope, (z, at)


def _backward(saved, g):
    """The gradient of z would be a scatter, ten times slower than all else: here each row's is a product with its weights."""
    z, at = saved
    columns = jnp.arange(z.shape[-1], dtype=z.dtype)

    def of_query(given):
        at, g = given
        return g @ jnp.maximum(1 - jnp.abs(at[:, None] - columns[None]), 0)

    of_z = jax.lax.map(of_query, tuple(a.reshape(-1, a.shape[-1]) for a in (at, g)), batch_size=_ROWS)
    return of_z.reshape(z.shape), g * jnp.take_along_axis(_slopes(z), jnp.floor(at).astype(jnp.int32), axis=-1)


def _slopes(z):
    """From each column to the next, 0 after the last."""
    return jnp.diff(z, axis=-1, append=z[..., -1:])


_interpolated.defvjp(_forward, _backward)
