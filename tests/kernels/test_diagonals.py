"""Numbers of offsets spread over pairs, in the form of either platform."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.kernels import diagonals
from tests import reference

PLATFORMS = {"cpu": diagonals.CPU, "accelerator": diagonals.ACCELERATOR}
every_platform = pytest.mark.parametrize("platform", PLATFORMS.values(), ids=PLATFORMS)


def normal(seed, *shape):
    return jax.random.normal(jax.random.key(seed), shape)


@every_platform
def test_toeplitz_agrees_with_the_reference(platform):
    by_offset = jnp.asarray(reference.entry("skew_reshape_L3")["inputs"]["r"], jnp.float32)
    rows = [platform.toeplitz(row[None], 3)[0, i] for i, row in enumerate(by_offset)]
    reference.assert_agrees(jnp.stack(rows), "skew_reshape_L3")


@every_platform
@pytest.mark.parametrize(("queries", "keys"), [(7, 7), (4, 10), (10, 4), (1, 13), (13, 1)])
def test_toeplitz_is_its_definition(platform, queries, keys):
    by_offset = np.asarray(normal(0, 3, 13))
    expected = np.zeros((3, queries, keys), np.float32)
    for i, j in np.ndindex(queries, keys):
        expected[:, i, j] = by_offset[:, j - i + queries - 1]
    spread = platform.toeplitz(jnp.asarray(by_offset), queries)
    np.testing.assert_array_equal(spread, expected)


@every_platform
def test_skewed_rows_agree_with_the_reference(platform):
    for name in ("skew_reshape_L3", "xl_rel_shift_bidirectional"):
        entry = reference.entry(name)
        rows = jnp.asarray(next(iter(entry["inputs"].values())), jnp.float32)
        rows = rows[:, 1:] if rows.shape[1] == 6 else rows  # a peer has one offset too many
        reference.assert_agrees(platform.skew(rows[None, None], 3)[0, 0], name)


@every_platform
def test_skewed_rows_without_their_future_are_zero_there(platform):
    entry = reference.entry("xl_rel_shift_causal")
    rows = jnp.asarray(entry["inputs"]["input"], jnp.float32)[None, None]
    np.testing.assert_array_equal(platform.skew(rows, 4)[0, 0], np.tril(entry["value"]))


SIZES = [(1, 1), (1, 4), (4, 1), (2, 5), (5, 3)]


@every_platform
@pytest.mark.parametrize(("queries", "keys"), SIZES)
def test_skewed_rows_are_picked_by_offset_for_any_number_of_keys(platform, queries, keys):
    offsets = queries + keys - 1
    x = np.arange(2 * 3 * queries * offsets, dtype=np.float32).reshape(2, 3, queries, offsets)
    expected = np.zeros((2, 3, queries, keys))
    for i, j in np.ndindex(queries, keys):
        expected[:, :, i, j] = x[:, :, i, j - i + queries - 1]
    np.testing.assert_array_equal(platform.skew(jnp.asarray(x), keys), expected)


@every_platform
@pytest.mark.parametrize("offsets", ["all", "past"])
@pytest.mark.parametrize(("queries", "keys"), SIZES)
def test_the_gradient_of_skewed_rows_goes_back_to_the_offsets(platform, queries, keys, offsets):
    """The definition is linear, so each number's gradient comes from the one pair that reads it."""
    num_offsets = queries + keys - 1 if offsets == "all" else queries
    x, g = normal(0, 1, 2, queries, num_offsets), normal(1, 1, 2, queries, keys)
    expected = np.zeros(x.shape, np.float32)
    for i, j in np.ndindex(queries, keys):
        if j - i + queries - 1 < num_offsets:
            expected[:, :, i, j - i + queries - 1] = g[:, :, i, j]
    _, transpose = jax.vjp(lambda x: platform.skew(x, keys), x)
    np.testing.assert_array_equal(transpose(g)[0], expected)
