"""Exclusive self-attention: a head's output loses its component along the token's own value.

Equation: y_i − (y_i·v_i) v_i / ‖v_i‖².
Beyond training: defined.

Zhai 2026, "Exclusive Self Attention", https://arxiv.org/abs/2603.09078. The text of the paper was
not read. The equation is that of openai/parameter-golf, pull request 265. learned=True is the form
of KellerJordan/modded-nanogpt, pull request 264: a fraction tanh(a) is subtracted, with one a for
each head and layer, which starts at 0.

Differs in small values, along which less is lost: here below a norm of 1e-6; below 1e-12 in pull
request 265, which has the default of F.normalize; below 1e-4 in pull request 264, which has
F.normalize with eps=1e-4.

It is no position encoding and acts together with one: encodings=(dict(name="rope"),
dict(name="xsa")).
"""

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens, weighted_sum
from pe_lab.encodings.requirements import Requirements

_SMALLEST = 1e-12  # of the squared norm of a value


class XSA(AttentionEncoding):
    """out = y - t (y·v) v / |v|^2, with y the sum of values and v the token's own value.

    t is 1, or tanh of a learned number of each head. Relative; it reads no positions and finds a
    token's own value by its slot. Not defined in cross-attention, where a token has no value.

    Args:
      learned: t is learned. It starts at 0, where it changes nothing.
    """

    requirements = Requirements(
        relative=True, reads_positions=False, per_layer=True, replaces=("combine",)
    )

    def __init__(self, *, learned: bool = False, num_heads: int, rngs: nnx.Rngs | None = None):
        start = jnp.zeros(num_heads, jnp.float32)
        self.strength = nnx.Param(start) if learned else None

    def combine(
        self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b l h e"]:
        if Q.slots is None:
            raise ValueError("XSA reads the slots of queries: pass Tokens(positions, slots).")
        out = weighted_sum(w, v).astype(jnp.float32)
        own_values = jnp.take_along_axis(v, Q.slots[..., None, None], axis=1)
        own_values = own_values.astype(jnp.float32)
        products = (out * own_values).sum(axis=-1, keepdims=True)
        squares = (own_values**2).sum(axis=-1, keepdims=True)
        component = products / jnp.maximum(squares, _SMALLEST) * own_values
        if self.strength is not None:
            component = component * jnp.tanh(self.strength[...])[None, None, :, None]
        return (out - component).astype(v.dtype)
