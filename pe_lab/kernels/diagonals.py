"""Numbers of all pairs of query and key, from one number for each offset between them.

Where positions are consecutive, L queries and S keys have only L + S - 1 offsets. The plain form
computes L * S numbers, or gathers them. `toeplitz` and `skew` spread numbers of offsets over pairs
without a gather, whose gradient would be a scatter. On a CPU they copy runs of memory. On an
accelerator they pad rows by one and reshape, which starts each row one place earlier, so that the
sums of a gradient have one order.
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

    toeplitz: Callable[[Array, int], Array]
    skew: Callable[[Array, int], Array]


def toeplitz_cpu(by_offset: Float[Array, "h o"], num_queries: int) -> Float[Array, "h l s"]:
    """out[i, j] = by_offset[j - i]; a row is a slice of the offsets."""
    num_keys = by_offset.shape[1] + 1 - num_queries
    row = functools.partial(_columns, by_offset, size=num_keys)
    rows = jax.vmap(row, out_axes=-2)
    first = jnp.arange(num_queries)[::-1]  # the last query's row starts with the first offset
    return rows(first)


def toeplitz_accelerator(by_offset: Float[Array, "h o"], num_queries: int) -> Float[Array, "h l s"]:
    """out[i, j] = by_offset[j - i]."""
    heads, num_offsets = by_offset.shape
    num_keys = num_offsets + 1 - num_queries
    shape = (1, heads, num_queries, num_offsets)
    rows = jnp.broadcast_to(by_offset[None, :, None], shape)
    batch_of_one = skew_accelerator(rows, num_keys)
    return batch_of_one[0]


def skew_accelerator(x: Float[Array, "b h l o"], num_keys: int) -> Float[Array, "b h l s"]:
    """out[..., i, j] = x[..., i, j - i + L - 1]."""
    batch, heads, num_queries, num_offsets = x.shape
    all_offsets = num_queries + num_keys - 1
    missing = all_offsets + 1 - num_offsets  # one more, which shifts the next row by one
    padded = pad_last(x, after=missing)
    flat = padded.reshape(batch, heads, -1)
    flat = flat[..., : num_queries * all_offsets]
    skewed = flat.reshape(batch, heads, num_queries, all_offsets)
    # Earlier columns are before the first key, or belong to the row above.
    return skewed[..., num_queries - 1 :]


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def skew_cpu(x: Float[Array, "b h l o"], num_keys: int) -> Float[Array, "b h l s"]:
    """out[..., i, j] = x[..., i, j - i + L - 1]; its gradient copies runs and is no scatter."""
    skewed, _ = _skew_forward(x, num_keys)
    return skewed


def _skew_forward(
    x: Float[Array, "b h l o"], num_keys: int
) -> tuple[Float[Array, "b h l s"], Float[Array, "0 o"]]:
    num_queries, num_offsets = x.shape[2:]
    missing = num_queries + num_keys - 1 - num_offsets
    padded = pad_last(x, after=missing)
    first = jnp.arange(num_queries)[::-1]  # the first key has offset -i, in column L - 1 - i
    shape_of_x = jnp.zeros((0, num_offsets))  # an empty array, the only way to save a number
    return _slices(padded, first, num_keys), shape_of_x


def _skew_backward(
    num_keys: int,
    shape_of_x: Float[Array, "0 o"],
    g: Float[Array, "b h l s"],
) -> tuple[Float[Array, "b h l o"]]:
    """The gradient of a row is the row of g, moved to the offsets that it was taken from."""
    num_queries = g.shape[2]
    num_offsets = shape_of_x.shape[1]
    missing = max(0, num_offsets - num_keys)
    padded = pad_last(g, before=num_queries - 1, after=missing)
    first = jnp.arange(num_queries)
    return (_slices(padded, first, num_offsets),)


skew_cpu.defvjp(_skew_forward, _skew_backward)


def _slices(
    x: Float[Array, "b h l o"],
    first: Int[Array, "l"],
    size: int,
) -> Float[Array, "b h l s"]:
    """`size` columns of each query's row, from the first column of the query on."""
    row = functools.partial(_columns, size=size)
    rows = jax.vmap(row, in_axes=(2, 0), out_axes=2)
    return rows(x, first)


def _columns(
    x: Float[Array, "*b o"],
    first: Int[Array, ""],
    *,
    size: int,
) -> Float[Array, "*b s"]:
    # JAX moves a slice that is out of range and raises no error, so rows must be padded enough.
    return jax.lax.dynamic_slice_in_dim(x, first, slice_size=size, axis=-1)


def pad_last(
    x: Float[Array, "*b o"],
    *,
    before: int = 0,
    after: int,
) -> Float[Array, "*b p"]:
    """Zeros before and after the numbers of the last axis."""
    widths = [(0, 0)] * x.ndim
    widths[-1] = (before, after)
    return jnp.pad(x, widths)


CPU = Diagonals(toeplitz_cpu, skew_cpu)
ACCELERATOR = Diagonals(toeplitz_accelerator, skew_accelerator)
