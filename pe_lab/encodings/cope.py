"""CoPE: a position is the number of tokens that a query counts by their content.

Equation: q·k / √Dh + q·e[Σ σ(logits) from j to i].
Beyond training: last row.

Golovneva et al. 2024, "Contextual Position Encoding: Learning to Count What's Important",
https://arxiv.org/abs/2405.18719.

The paper's listing adds q·e to logits that are already scaled. The authors' code
(facebookresearch/RAM, projects/cope) also divides q·e by sqrt(Dh) by default: `scaled=True`.
Neither fixes the number of positions; the authors' code takes the context's length plus one. As in
the listing, gates read the current logits: q·k / sqrt(Dh), with the rotations and biases of the
other encodings of the layer.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.requirements import Requirements


class CoPE(AttentionEncoding):
    """logits += q·e[p_ij], where p_ij sums sigmoid(logits) over the keys from j to the query.

    e is a table that is interpolated linearly between its rows. Relative, and it reads no
    positions. The query's own key counts too, so p_ii is its gate and not 0. A count beyond the
    last row reads the last row, so longer contexts are defined. Heads share the table, which is
    initialized to 0. Causal only: keys are summed in their order, up to the query.

    Args:
      num_positions: rows of the table, for counts 0..num_positions-1.
      scaled: divide q·e by sqrt(Dh), like q·k.
    """

    requirements = Requirements(
        relative=True,
        reads_positions=False,
        bidirectional=False,
        per_layer=True,
        replaces=("logits",),
    )

    def __init__(
        self,
        *,
        num_positions: int = 64,
        scaled: bool = False,
        head_dim: int,
        rngs: nnx.Rngs | None = None,
    ):
        if num_positions < 2:
            raise ValueError(
                f"CoPE interpolates between rows, so it needs two positions or more, got "
                f"{num_positions}."
            )
        self.head_dim = head_dim
        self.scale = 1 / math.sqrt(head_dim) if scaled else 1.0
        self.table = nnx.Param(jnp.zeros((num_positions, head_dim), jnp.float32))

    def counts(
        self, s: Float[Array, "b h l s"], mask: Bool[Array, "_ _ l s"]
    ) -> Float[Array, "b h l s"]:
        """p: for each query, the sum of its gates from each key on, at most the last row."""
        gates = jax.nn.sigmoid(s)
        # The mask is causal, so a sum over the keys from j on ends at the query.
        gates = jnp.where(mask, gates, 0.0)
        count = jax.lax.cumsum(gates, axis=3, reverse=True)
        last_row = self.table.shape[0] - 1.0
        return jnp.minimum(count, last_row)

    def transform_logits(
        self,
        s: Float[Array, "b h l s"],
        q: Float[Array, "b l h e"],
        k: Float[Array, "b s h e"],
        Q: Tokens,
        K: Tokens,
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        table = self.scale * self.table[...]
        # q·e for every row of the table: L * P products instead of L * S.
        by_row = jnp.einsum("blhe,pe->bhlp", q, table)  # [B, H, L, P]
        counts = self.counts(s, mask)
        return s + interpolate(by_row, counts)


def interpolate(
    by_row: Float[Array, "b h l p"], count: Float[Array, "b h l s"]
) -> Float[Array, "b h l s"]:
    """Each query's values at counts in 0..P-1, linear between the rows of the table."""
    # floor has no gradient: the gates learn from the fraction of the count alone.
    below = jnp.floor(count)
    row = below.astype(jnp.int32)
    last_row = by_row.shape[-1] - 1
    next_row = jnp.minimum(row + 1, last_row)  # at the last row the slope is 0
    value = jnp.take_along_axis(by_row, row, axis=-1)
    next_value = jnp.take_along_axis(by_row, next_row, axis=-1)
    slope = next_value - value
    return value + (count - below) * slope
