"""Queries and keys that an encoding makes wider, on all heads or on some of them.

Heads of one layer may differ in width, because an encoding can act on some heads only.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from pe_lab.kernels import Kernels
from pe_lab.model.terms import LayerEncoding, on_heads


def transform_qk(
    e: LayerEncoding,
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    widths: Int[np.ndarray, "h"],
    kernels: Kernels,
) -> tuple[Float[Array, "b l h f"], Float[Array, "b s h f"], Int[np.ndarray, "h"]]:
    """Queries and keys after an encoding's `transform_qk`, and the new widths of the heads.

    An encoding sees its own heads at their own width, and leaves the other heads alone. Arrays are
    as wide as the widest head. The others end in zeros, which add nothing to a product.
    """
    transformed = kernels.hook(e.encoding, "transform_qk")
    acts_on = np.ones(len(widths), bool) if e.heads is None else e.heads
    new_widths = widths.copy()
    own_widths = np.unique(widths[acts_on])  # one, unless some of the heads were widened before
    for width in own_widths.tolist():
        heads = acts_on & (widths == width)
        own_q = _first_channels(q, width)
        own_k = _first_channels(k, width)
        new_q, new_k = transformed(own_q, own_k, e.Q, e.K)
        q = _replace_heads(e, heads, new_q, q)
        k = _replace_heads(e, heads, new_k, k)
        new_widths[heads] = new_q.shape[-1]
    return q, k, new_widths


def _first_channels(x: Float[Array, "b l h f"], width: int) -> Float[Array, "b l h e"]:
    return x if x.shape[-1] == width else x[..., :width]


def _replace_heads(
    e: LayerEncoding,
    heads: Bool[np.ndarray, "h"],
    new: Float[Array, "b l h e"],
    old: Float[Array, "b l h f"],
) -> Float[Array, "b l h g"]:
    """`new` on some heads and `old` on the others, both as wide as the wider one."""
    if heads.all() and e.on is None:
        return new
    width = max(new.shape[-1], old.shape[-1])
    new, old = _pad(new, width), _pad(old, width)
    new = on_heads(heads, new, old, axis=2)
    return on_heads(e.on, new, old, axis=2)


def _pad(x: Float[Array, "b l h e"], width: int) -> Float[Array, "b l h f"]:
    missing = width - x.shape[-1]
    return jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, missing)))
