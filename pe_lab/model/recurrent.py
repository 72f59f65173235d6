"""A recurrent network in place of attention: a reference that reads order without positions.

    state of token t = cell(input of token t, state of token t - 1)

Hochreiter and Schmidhuber 1997, "Long Short-Term Memory"; Cho et al. 2014, "Learning Phrase
Representations using RNN Encoder-Decoder for Statistical Machine Translation",
https://arxiv.org/abs/1406.1078, for the gated recurrent unit.

The cells are Flax's with its initial values: all biases are 0, including the forget gate's. Norms,
residual sums and feed-forward layers are the transformer's, so two runs differ in attention alone.
The papers stack bare cells. The reset gate r of the gated unit acts after the product with the
state, r * (U h), as in PyTorch; Cho et al. have U (r * h).
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, PyTree

from pe_lab.model.convolution import Neighbors
from pe_lab.model.keys import Keys
from pe_lab.model.terms import AttentionTerms
from pe_lab.runs.settings.settings import Model

_CELLS = {"lstm": nnx.OptimizedLSTMCell, "gru": nnx.GRUCell}


class Recurrence(nnx.Module):
    """A cell over the tokens of a causal stack, with the methods of `Attention`.

    Its keys are its inputs. A cache holds all inputs so far, and the cell reads them again for each
    token. This is slower than keeping a state, but it has the same contract as attention.
    """

    def __init__(self, model: Model, *, rngs: nnx.Rngs):
        cell = _CELLS[model.mixer]
        dtype = jnp.dtype(model.compute_dtype)
        self.cell = cell(model.width, model.width, dtype=dtype, rngs=rngs)
        self.num_heads = model.num_heads  # the stack reads it; a cell has none

    def keys(
        self,
        x: Float[Array, "b s d"],
        valid: Bool[Array, "b s"],
        terms: AttentionTerms,
        *,
        cross: bool = False,
        neighbors: Neighbors | None = None,
    ) -> Keys:
        """The inputs, 0 at padding, as the keys and values of one head."""
        x = jnp.where(valid[..., None], x, 0)
        inputs = x[:, :, None]
        return Keys(inputs, inputs)

    def __call__(
        self,
        x: Float[Array, "b l d"],
        valid: Bool[Array, "b l"],
        keys: Keys,
        terms: AttentionTerms,
        neighbors: Neighbors | None = None,
    ) -> Float[Array, "b l d"]:
        """For each input, the state after the last token that it may see: itself."""
        inputs = keys.v[:, :, 0]

        def step(state: PyTree, inputs: Float[Array, "b d"]) -> tuple[PyTree, Float[Array, "b d"]]:
            return self.cell(state, inputs)

        # Zeros, whatever the random numbers.
        start = self.cell.initialize_carry(inputs[:, 0].shape, nnx.Rngs(0))
        # A scan runs over the first axis, so tokens come first: [L, B, D].
        _, outputs = jax.lax.scan(step, start, jnp.moveaxis(inputs, 1, 0))
        outputs = jnp.moveaxis(outputs, 0, 1).astype(x.dtype)
        # In a cache, the inputs may be in any slots.
        visible = jnp.broadcast_to(terms.visible[:, 0], (*x.shape[:2], inputs.shape[1]))
        slots = jnp.arange(inputs.shape[1])
        last = jnp.where(visible, slots, 0).max(axis=-1)
        of_queries = jnp.take_along_axis(outputs, last[..., None], axis=1)  # last: [B, L]
        return jnp.where(visible.any(axis=-1, keepdims=True), of_queries, 0)
