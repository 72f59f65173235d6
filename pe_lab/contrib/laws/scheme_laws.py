"""All laws that every position scheme must pass, as functions that raise AssertionError.

Three examples of 7, 4 and 1 tokens have the segments and structures that a scheme may follow.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.positions.base import PositionScheme
from pe_lab.runs.plugins import plugins

NUM_LAYERS = 3
LENGTHS = (7, 4, 1)
STRUCTURE = {
    "symbols": [0, 1, 1, 0, 1, 1, 1],
    "coupled": [0, 1, 2, 0, 2, 3, 1],
    "parts": [0, 0, 0, 1, 1, 1, 1],
    "separators": [0, 1, 0, 0, 1, 1, 0],
    "grid": [[0, 0], [1, 1], [1, 1], [1, 2], [2, 1], [0, 0], [0, 0]],
}
SEGMENTS = [1, 1, 2, 2, 2, 3, 3]


# The laws. Each takes a scheme.
def positions_ascend_within_the_bound_and_padding_is_zero(scheme: PositionScheme) -> None:
    """Positions ascend if the scheme declares it, are at most its bound, and are 0 at padding."""
    for train in (False, True):
        for segments in (False, True):
            for seed in range(5):
                _check_positions(scheme, train, segments, seed)


def _check_positions(scheme: PositionScheme, train: bool, segments: bool, seed: int) -> None:
    is_token = mask(padded=9)
    out = rows(scheme, is_token, train, seed, segments)
    when = "in training" if train else "in evaluation"
    for b, length in enumerate(LENGTHS):
        valid = out[:, b, :length]
        if scheme.ascending:
            assert (np.diff(valid, axis=1) > 0).all(), (
                f"{when}, the positions {valid[0, :, 0].tolist()} do not ascend, and the scheme "
                "declares ascending = True"
            )
        assert scheme.real or valid.min() >= 0, f"{when}, there is a position {valid.min()}"
        bound = scheme.bound(length, train)
        # Positions that are real numbers are computed in float32.
        assert valid.max() <= bound * (1 + 1e-6 * scheme.real), (
            f"{when}, the largest position of {length} tokens is {valid.max()}, and "
            f"bound({length}, train={train}) is {bound}"
        )
    beyond = f"{when}, a position of padding is not 0"
    assert (out[:, :, 7:] == 0).all(), beyond
    # With `arange` one row serves all examples and counts up to the end of the longest.
    if not scheme.arange:
        assert (out[:, ~np.asarray(is_token)] == 0).all(), beyond


def the_padded_length_changes_no_draw(scheme: PositionScheme) -> None:
    """The positions of tokens do not depend on how much padding follows them."""
    for train in (False, True):
        short, long = (rows(scheme, mask(padded=padded), train) for padded in (7, 12))
        np.testing.assert_array_equal(short[:, mask()], long[:, :, :7][:, mask()])


def an_example_depends_on_its_own_key_and_not_on_its_neighbors(scheme: PositionScheme) -> None:
    """An example has the same positions alone and in a batch."""
    for train in (False, True):
        together = rows(scheme, mask(), train)
        alone = positions(scheme, keys()[1:2], mask()[1:2], train)
        np.testing.assert_array_equal(
            together[:, 1, :4], alone.reshape(len(together), 7, -1)[:, :4]
        )


def compiled_and_side_by_side_equals_eager(scheme: PositionScheme) -> None:
    """jax.jit and jax.vmap give the positions of the plain call, with traced lengths."""
    two_keys = jnp.stack([keys(seed=0), keys(seed=1)])
    for train in (False, True):
        call = functools.partial(positions, scheme, train=train)
        compiled = jax.jit(jax.vmap(call, in_axes=(0, None)))(two_keys, mask())
        eager = np.stack([positions(scheme, key, mask(), train) for key in two_keys])
        np.testing.assert_allclose(compiled, eager, rtol=1e-6 if scheme.real else 0)


def traits_say_what_positions_are(scheme: PositionScheme) -> None:
    """The traits real, num_axes, arange and reads_length say what the positions are."""
    for train in (False, True):
        out = positions(scheme, keys(), mask(), train)
        is_real = bool(jnp.issubdtype(out.dtype, jnp.floating))
        assert is_real == scheme.real, f"positions are {out.dtype}, and real = {scheme.real}"
        num_axes = 1 if out.ndim == 3 else out.shape[3]
        assert scheme.num_axes == num_axes, f"{num_axes} axes, and num_axes = {scheme.num_axes}"
    if scheme.arange:
        np.testing.assert_array_equal(out, jnp.arange(7)[None, None])
    same_start = [rows(scheme, mask((n, 4, 1)), train=False)[:, 0, :3] for n in (7, 5)]
    reads_length = bool(np.abs(same_start[0] - same_start[1]).max() > 0)
    assert scheme.reads_length == reads_length, (
        f"the first positions of 7 and of 5 tokens are {'not ' if reads_length else ''}equal, and "
        f"reads_length = {scheme.reads_length}"
    )


def only_schemes_that_keep_differences_count_tokens_by_ones(scheme: PositionScheme) -> None:
    """keeps_differences says whether positions grow by 1 a token, from any start.

    A relative encoding then reads contiguous positions.
    """
    steps = []
    for train in (False, True):
        of_tokens = rows(scheme, mask(), train)
        for b, length in enumerate(LENGTHS):
            steps += np.diff(of_tokens[:, b, :length], axis=1).ravel().tolist()
    by_ones = bool(np.allclose(steps, 1, atol=1e-5))
    assert scheme.keeps_differences == by_ones, (
        f"positions {'grow' if by_ones else 'do not always grow'} by 1 a token, and "
        f"keeps_differences = {scheme.keeps_differences}"
    )


LAWS: dict[str, Callable[[PositionScheme], None]] = {
    f.__name__: f
    for f in (
        positions_ascend_within_the_bound_and_padding_is_zero,
        the_padded_length_changes_no_draw,
        an_example_depends_on_its_own_key_and_not_on_its_neighbors,
        compiled_and_side_by_side_equals_eager,
        traits_say_what_positions_are,
        only_schemes_that_keep_differences_count_tokens_by_ones,
    )
}


def build(spec: dict[str, object]) -> Any:
    return plugins.build("positions", plugins.resolve("positions", spec), num_layers=NUM_LAYERS)


def keys(n: int = 3, seed: int = 0) -> jax.Array:
    return jax.random.split(jax.random.key(seed), n)


def mask(lengths: Sequence[int] = LENGTHS, padded: int = 7) -> jax.Array:
    return jnp.arange(padded)[None] < jnp.asarray(lengths)[:, None]


def wide(values: object, is_token: jax.Array) -> jax.Array:
    """A value a token, as long as a mask, in each of its rows; 0 at padding."""
    row = np.asarray(values)
    padding = np.zeros((is_token.shape[1] - len(row), *row.shape[1:]), row.dtype)
    row = np.concatenate([row, padding])
    is_valid = is_token.reshape(*is_token.shape, *(1,) * (row.ndim - 1))
    return jnp.where(is_valid, jnp.asarray(row)[None], 0)


def positions(
    scheme: PositionScheme, keys: jax.Array, is_token: jax.Array, train: bool, segments: bool = True
) -> jax.Array:
    """Positions of a scheme that may follow a structure, and segments if they are given."""
    structure = {name: wide(values, is_token) for name, values in STRUCTURE.items()}
    ids = wide(SEGMENTS, is_token) if segments else None
    return scheme(keys, is_token, segments=ids, structure=structure, train=train)


def rows(
    scheme: PositionScheme, is_token: jax.Array, train: bool, seed: int = 0, segments: bool = True
) -> np.ndarray:
    """[N, B, L, A], a row for each example."""
    num_examples = len(is_token)
    out = positions(scheme, keys(num_examples, seed), is_token, train, segments)
    num_dimensions = 3 if scheme.num_axes == 1 else 4
    rows_are_right = out.shape[0] in (1, NUM_LAYERS) and out.shape[1] in (1, num_examples)
    is_right = out.ndim == num_dimensions and rows_are_right
    assert is_right, (
        f"the shape is {out.shape}, and must be [1 or layers, 1 or B, L], with a further axis if "
        "num_axes is above 1"
    )
    wide_out = np.broadcast_to(out, (out.shape[0], num_examples, *out.shape[2:]))
    return wide_out.reshape(out.shape[0], *is_token.shape, scheme.num_axes)
