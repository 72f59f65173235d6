"""Numbers that depend on the offset between key and query, from one number for each offset.

Where positions are consecutive, L queries and S keys have only L + S - 1 offsets. `toeplitz` and
`skew` spread what was computed once for each offset over all pairs, without a gather. On a CPU runs
of memory are copied; on an accelerator rows are padded by one and reshaped, which starts each row
one place earlier, so that the sums of a gradient have one order.
"""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


@dataclasses.dataclass(frozen=True)
class Diagonals:
    """The two spreading functions of a platform.

    Attributes:
      toeplitz: [H, L+S-1] over the offsets 1-L..S-1, and L -> [H, L, S].
      skew: [B, H, L, O], a row for each query over the offsets 1-L, 2-L, …, and S -> [B, H, L, S].
        Offsets that are left out at the end count as 0.
    """

    toeplitz: Callable
    skew: Callable


def toeplitz_cpu(by_offset: Float[Array, "h o"], num_queries: int) -> Float[Array, "h l s"]:
    """out[i, j] = by_offset[j - i]; a row is a slice of the offsets."""
    num_keys = by_offset.shape[1] + 1 - num_queries
    take = functools.partial(jax.lax.dynamic_slice_in_dim, by_offset, slice_size=num_keys, axis=-1)
    return jax.vmap(take, out_axes=-2)(jnp.arange(num_queries)[::-1])


def toeplitz_accelerator(by_offset: Float[Array, "h o"], num_queries: int) -> Float[Array, "h l s"]:
    """out[i, j] = by_offset[j - i]."""
    heads, num_offsets = by_offset.shape
    rows = jnp.broadcast_to(by_offset[None, :, None], (1, heads, num_queries, num_offsets))
    return skew_accelerator(rows, num_offsets + 1 - num_queries)[0]


def skew_accelerator(x: Float[Array, "b h l o"], num_keys: int) -> Float[Array, "b h l s"]:
    """out[..., i, j] = x[..., i, j - i + L - 1]."""
    batch, heads, num_queries, num_offsets = x.shape
    all_offsets = num_queries + num_keys - 1
    padded = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, all_offsets + 1 - num_offsets)))
    flat = padded.reshape(batch, heads, -1)[..., : num_queries * all_offsets]
    skewed = flat.reshape(batch, heads, num_queries, all_offsets)
    return skewed[..., num_queries - 1 :]


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def skew_cpu(x: Float[Array, "b h l o"], num_keys: int) -> Float[Array, "b h l s"]:
    """out[..., i, j] = x[..., i, j - i + L - 1]; its gradient copies runs and is no scatter."""
    return _skew_forward(x, num_keys)[0]


def _skew_forward(x, num_keys):
    num_queries, num_offsets = x.shape[2:]
    missing = num_queries + num_keys - 1 - num_offsets
    padded = jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, missing)))
    first = jnp.arange(num_queries)[::-1]
    return _slices(padded, first, num_keys), jnp.zeros((0, num_offsets))


def _skew_backward(num_keys, saved, g):
    num_queries, num_offsets = g.shape[2], saved.shape[1]
    missing = max(0, num_offsets - num_keys)
    padded = jnp.pad(g, ((0, 0), (0, 0), (0, 0), (num_queries - 1, missing)))
    return (_slices(padded, jnp.arange(num_queries), num_offsets),)


skew_cpu.defvjp(_skew_forward, _skew_backward)


def _slices(
    x: Float[Array, "b h l o"], first: Int[Array, "l"], size: int
) -> Float[Array, "b h l s"]:
    """`size` columns of each row, from the row's own first column."""
    take = functools.partial(jax.lax.dynamic_slice_in_dim, slice_size=size, axis=-1)
    return jax.vmap(take, in_axes=(2, 0), out_axes=2)(x, first)


CPU = Diagonals(toeplitz_cpu, skew_cpu)
ACCELERATOR = Diagonals(toeplitz_accelerator, skew_accelerator)
