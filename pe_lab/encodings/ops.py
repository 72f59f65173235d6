"""Mathematics that several encodings share: tables, angles, rotations, softmax."""

import math
from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, Num

_UNITS_PER_TURN = 2.0**32  # a phase is an integer modulo 2^32, so that whole turns drop out
# Sizes of arguments. float32 ends at 1e-38 and 3e38, and products need room.
_SMALLEST = 1e-30
_LARGEST = 1e30


def check_positive(owner: str, **arguments: float) -> None:
    """Check that arguments are positive, and that float32 can compute with them.

    Args:
      owner: the class, for the message.

    Raises:
      ValueError: an argument is not within 1e-30 and 1e30.
    """
    for name, value in arguments.items():
        if not _SMALLEST <= value <= _LARGEST:
            raise ValueError(
                f"{owner}'s {name} must be above 0 (from {_SMALLEST:g} to {_LARGEST:g}), got "
                f"{value:g}."
            )


def check_finite(owner: str, **arguments: float) -> None:
    """Check that arguments are numbers that float32 can compute with.

    Args:
      owner: the class, for the message.

    Raises:
      ValueError: an argument is NaN, or its size is above 1e30.
    """
    for name, value in arguments.items():
        if not abs(value) <= _LARGEST:
            raise ValueError(
                f"{owner}'s {name} must be a number of at most {_LARGEST:g}, got {value:g}."
            )


def check_axes(positions: Num[Array, "b l *a"], num_axes: int, name: str) -> Num[Array, "b l *a"]:
    """The positions, if they have `num_axes` axes.

    Raises:
      ValueError: they have another number of axes.
    """
    axes = () if num_axes == 1 else (num_axes,)
    if positions.shape[2:] != axes:
        expected = "[B, L]" if num_axes == 1 else f"[B, L, {num_axes}]"
        raise ValueError(f"{name} reads positions {expected}, got {list(positions.shape)}.")
    return positions


def as_positions(positions: Num[Array, "*p"]) -> Num[Array, "*p"]:
    """The positions as int32 or float32, in which encodings compute.

    Differences of unsigned or narrow integers would wrap around. Numbers from 2^31 on are refused
    where they are known, and not inside a compiled function.

    Raises:
      TypeError: they are neither integers nor floating-point numbers.
      ValueError: an integer does not fit in int32.
    """
    dtype = positions.dtype
    if dtype in (jnp.int32, jnp.float32):
        return positions
    if jnp.issubdtype(dtype, jnp.floating):
        return jnp.asarray(positions, jnp.float32)
    if not jnp.issubdtype(dtype, jnp.integer):
        raise TypeError(f"Positions are integers or floating-point numbers, got {dtype}.")
    if not isinstance(positions, jax.core.Tracer):
        largest = np.abs(np.asarray(positions)).max(initial=0)
        if largest > jnp.iinfo(jnp.int32).max:
            raise ValueError(f"Positions are below 2^31 = 2147483648, got {largest}.")
    return jnp.asarray(positions, jnp.int32)


def masked_softmax(
    s: Float[Array, "b h l s"], mask: Bool[Array, "_ _ l s"]
) -> Float[Array, "b h l s"]:
    """Softmax over the allowed keys in float32; zeros with zero gradients if no key is allowed."""
    float32 = jnp.finfo(jnp.float32)
    # Not -inf: in a row without keys, -inf minus the maximum would be NaN.
    s = s.astype(jnp.float32)
    s = jnp.where(mask, s, float32.min)
    largest = s.max(axis=-1, keepdims=True)
    largest = jax.lax.stop_gradient(largest)  # the result does not depend on it
    exponentials = jnp.exp(s - largest)
    exponentials = jnp.where(mask, exponentials, 0.0)
    total = exponentials.sum(axis=-1, keepdims=True)
    total = jnp.maximum(total, float32.tiny)  # a row without keys is 0 / tiny
    return exponentials / total


def uniform_linear(inputs: int, outputs: int, rngs: nnx.Rngs) -> nnx.Linear:
    """A linear layer with the initialization of PyTorch's nn.Linear.

    Weights and biases are uniform within 1 / sqrt(inputs).
    """
    limit = inputs**-0.5

    def initialize(key: Array, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        return jax.random.uniform(key, shape, dtype, -limit, limit)

    return nnx.Linear(inputs, outputs, kernel_init=initialize, bias_init=initialize, rngs=rngs)


def lookup(table: Float[Array, "n c"], index: Num[Array, "*o"]) -> Float[Array, "*o c"]:
    """Rows of a table; NaN for an index outside of it, negative ones included.

    Raises:
      TypeError: the index is not an integer.
    """
    if not jnp.issubdtype(index.dtype, jnp.integer):
        raise TypeError(f"A table is read at whole positions, got {index.dtype}.")
    num_rows = table.shape[0]
    inside = (index >= 0) & (index < num_rows)
    safe_index = jnp.where(inside, index, 0)
    rows = jnp.take(table, safe_index, axis=0)
    return jnp.where(inside[..., None], rows, jnp.nan)


def geometric_frequencies(base: float, channels: int) -> tuple[float, ...]:
    """base^(-2m / channels) for each pair m of channels, in radians per position."""
    exponents = -np.arange(0, channels, 2) / channels
    return tuple((base**exponents).tolist())


def alibi_slopes(num_heads: int) -> tuple[float, ...]:
    """Press et al.'s slope of each head, for any number of heads."""
    num_heads = int(num_heads)  # a number of NumPy lacks the method
    below = 2 ** (num_heads.bit_length() - 1)  # the power of two below, or the number itself
    every_other = _geometric_slopes(2 * below)[::2]
    return tuple(_geometric_slopes(below) + every_other[: num_heads - below])


def _geometric_slopes(num_heads: int) -> list[float]:
    """2^(-8h / H) for h = 1..H, the slopes for a power of two."""
    return [2.0 ** (-8 * h / num_heads) for h in range(1, num_heads + 1)]


def angles(positions: Num[Array, "*p"], frequencies: Sequence[float]) -> Float[Array, "*p f"]:
    """positions x frequencies in radians, without whole turns of whole positions.

    Do not scale them. Those of whole positions are in (-pi, pi).

    Exact to 1e-6 below position 2^24. The error of a plain float32 product is 1e-3 at position 1e5.
    A whole position times a frequency's share of a turn is a product of integers modulo 2^32, whose
    overflow drops whole turns. The fraction of a position is multiplied as usual.
    """
    turns = np.asarray(frequencies, np.float64) / (2 * math.pi)
    # Units per position: a whole part that products modulo 2^32 keep exact, and a rest below 1.
    units = turns * _UNITS_PER_TURN
    whole_units = np.floor(units) % _UNITS_PER_TURN
    rest_of_unit = units % 1.0
    row = (*(1,) * positions.ndim, -1)  # frequencies are the last axis of the angles
    high = whole_units.astype(np.uint32).reshape(row)
    low = rest_of_unit.astype(np.float32).reshape(row)

    is_fractional = jnp.issubdtype(positions.dtype, jnp.floating)
    integer = jnp.floor(positions) if is_fractional else positions
    integer = integer.astype(jnp.int32)[..., None]
    unsigned = jax.lax.bitcast_convert_type(integer, jnp.uint32)
    product = unsigned * high
    rest = integer.astype(jnp.float32) * low
    whole_rest = jnp.floor(rest).astype(jnp.int32)
    # As a signed integer, the phase is between minus and plus half a turn.
    phase = jax.lax.bitcast_convert_type(product, jnp.int32) + whole_rest
    radians_per_unit = 2 * math.pi / _UNITS_PER_TURN
    angle = phase.astype(jnp.float32) * radians_per_unit
    if not is_fractional:
        return angle
    fraction = positions - jnp.floor(positions)
    fraction = fraction.astype(jnp.float32)[..., None]
    plain_frequencies = jnp.asarray(frequencies, jnp.float32)
    plain_frequencies = plain_frequencies.reshape(row)
    return angle + fraction * plain_frequencies


def rotate(
    x: Float[Array, "b l h e"],
    angles: Float[Array, "#b l #h p"],
    layout: Literal["interleaved", "half"] = "interleaved",
    amplitude: float = 1.0,
) -> Float[Array, "b l h e"]:
    """Rotate the pairs of the first 2P channels of each head; leave the other channels.

    Args:
      angles: radians, one for each pair.
      layout: a pair is two neighboring channels ("interleaved"), or channels m and m + P ("half").
      amplitude: factor on the rotated channels.
    """
    num_rotated = 2 * angles.shape[-1]
    if layout == "interleaved":
        pair_axis = -1
        pair_shape = (-1, 2)  # pairs as [..., P, 2]
    else:
        pair_axis = -2
        pair_shape = (2, -1)  # pairs as [..., 2, P]
    cos = amplitude * jnp.cos(angles)
    sin = amplitude * jnp.sin(angles)
    channels = (*cos.shape[:-1], num_rotated)
    # The partner of a pair's first channel is subtracted, and the partner of its second is added.
    cos = jnp.stack([cos, cos], axis=pair_axis).reshape(channels)
    sin = jnp.stack([-sin, sin], axis=pair_axis).reshape(channels)

    first = x[..., :num_rotated].astype(jnp.float32)
    rest = x[..., num_rotated:]
    # Flipping pairs is faster on a CPU than taking the two halves apart and joining them again.
    pairs = first.reshape(*x.shape[:-1], *pair_shape)
    partners = jnp.flip(pairs, axis=pair_axis)
    partners = partners.reshape(first.shape)
    y = first * cos + partners * sin
    y = y.astype(x.dtype)
    if rest.shape[-1] == 0:
        return y
    return jnp.concatenate([y, rest], axis=-1)


def earlier(
    x: Float[Array, "b l *c"],
    distance: int,
    preceding: Int[Array, "_ l"],
    before: Float[Array, "b w *c"] | None = None,
) -> Float[Array, "b l *c"]:
    """For each token the input of the token `distance` before it; zeros before the first.

    Args:
      preceding: [B|1, L], the number of tokens before each one in its example.
      before: the inputs of the W tokens before these, in a cache; W is at least the distance.
    """
    length = x.shape[1]
    if before is None:
        widths = [(0, 0)] * x.ndim
        widths[1] = (distance, 0)
        inputs = jnp.pad(x, widths)
        start = 0
    else:
        inputs = jnp.concatenate([before, x], axis=1)
        start = before.shape[1] - distance
    shifted = inputs[:, start : start + length]
    exists = preceding >= distance
    exists = exists.reshape(*exists.shape, *(1,) * (x.ndim - 2))
    return jnp.where(exists, shifted, 0)


def causal_convolution(
    x: Float[Array, "b l *c"],
    kernel: Float[Array, "w *c"],
    preceding: Int[Array, "_ l"],
    before: Float[Array, "b v *c"] | None = None,
) -> Float[Array, "b l *c"]:
    """The sum over w of kernel[w] times the input of the token w before, for each channel alone.

    PyTorch's Conv1d with one group for each channel and a padding of W - 1 is the same function,
    with its weights in the opposite order. Shifts and sums are fast on a CPU.

    Args:
      preceding, before: as in `earlier`.
    """
    kernel = kernel.astype(x.dtype)
    total = kernel[None, None, 0] * x
    for distance in range(1, len(kernel)):
        total = total + kernel[None, None, distance] * earlier(x, distance, preceding, before)
    return total


def convolution_kernel(width: int, channels: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Param:
    """The kernel of a causal convolution, with the initial values of PyTorch's Conv1d.

    They are uniform within 1 / sqrt(width), because an output channel reads one input channel.
    """
    limit = width**-0.5
    kernel = jax.random.uniform(rngs.params(), (width, *channels), jnp.float32, -limit, limit)
    return nnx.Param(kernel)


def take_rows(
    by_row: Float[Array, "b h l r"], rows: Int[Array, "_ _ l s"]
) -> Float[Array, "b h l s"]:
    """Each query's value for the row of each key; rows are [B|1, H|1, L, S]."""
    rows = jnp.broadcast_to(rows, (*by_row.shape[:3], rows.shape[-1]))
    return jnp.take_along_axis(by_row, rows, axis=-1)


def pad_channels(x: Float[Array, "b l c"], channels: int) -> Float[Array, "b l d"]:
    """The numbers of each token, followed by zeros up to a number of channels."""
    missing = channels - x.shape[-1]
    return jnp.pad(x, ((0, 0), (0, 0), (0, missing)))
