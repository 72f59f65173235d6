"""JAX's fused attention, for accelerators.

It replaces logits, softmax and weighted sum in `attend`. On a GPU or TPU the compiler fuses them,
so that logits need not be written to memory.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pe_lab.kernels.diagonals import pad_last


def attention(
    q: Float[Array, "b l h f"],
    k: Float[Array, "b s h f"],
    v: Float[Array, "b s h e"],
    mask: Bool[Array, "_ _ l s"],
    bias: Float[Array, "_ _ l s"] | None = None,
    scale: float = 1.0,
    causal: bool = False,
) -> Float[Array, "b l h e"]:
    """softmax(scale q·k + bias) v over the allowed keys; zeros for a query that sees no key.

    Args:
      causal: unused, because the mask says it and may hide more.
    """
    channels = v.shape[-1]
    wider = q.shape[-1] - channels  # JAX's form wants values as wide as keys
    values = pad_last(v, after=wider)
    out = jax.nn.dot_product_attention(
        q,
        k,
        values,
        bias=bias,
        mask=mask,
        scale=scale,
    )
    # JAX's form gives a query without keys a mean of values that it may not see.
    sees_a_key = mask.any(axis=-1, keepdims=True)
    sees_a_key = jnp.moveaxis(sees_a_key, 1, 2)  # [B|1, L, H|1, 1]
    out = out[..., :channels]
    return jnp.where(sees_a_key, out, 0)
