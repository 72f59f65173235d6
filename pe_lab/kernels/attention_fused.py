"""JAX's fused attention, for accelerators."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def attention(
    q: Float[Array, "b l h f"],
    k: Float[Array, "b s h f"],
    v: Float[Array, "b s h e"],
    mask: Bool[Array, "_ _ l s"],
    bias: Float[Array, "_ _ l s"] | None,
    scale: float,
) -> Float[Array, "b l h e"]:
    """softmax(scale q·k + bias) v over the allowed keys; zeros for a query that sees no key."""
    wider = q.shape[-1] - v.shape[-1]  # JAX's form wants values as wide as keys
    values = jnp.pad(v, ((0, 0), (0, 0), (0, 0), (0, wider)))
    out = jax.nn.dot_product_attention(q, k, values, bias=bias, mask=mask, scale=scale)
    sees_a_key = jnp.moveaxis(mask.any(axis=-1, keepdims=True), 1, 2)
    return jnp.where(sees_a_key, out[..., : v.shape[-1]], 0)
