"""Mathematics that encodings share: softmax, tables, angles and rotations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.ops import angles, lookup, masked_softmax, rotate, take_rows


@pytest.mark.full
def test_masked_softmax_gives_a_row_without_keys_zero_and_finite_gradients():
    s = jnp.asarray([[[[1.0, 2.0], [3.0, 4.0]]]])
    mask = jnp.asarray([[[[True, False], [False, False]]]])
    np.testing.assert_allclose(masked_softmax(s, mask), [[[[1, 0], [0, 0]]]])
    assert np.isfinite(jax.grad(lambda s: (masked_softmax(s, mask) ** 2).sum())(s)).all()


@pytest.mark.slow
def test_masked_softmax_is_softmax_where_nothing_is_masked_and_survives_large_logits():
    s = 1e4 * jax.random.normal(jax.random.key(0), (1, 2, 3, 5))
    np.testing.assert_allclose(
        masked_softmax(s, jnp.ones((1, 1, 3, 5), bool)), jax.nn.softmax(s, axis=-1), atol=1e-6
    )


def test_a_lookup_outside_of_the_table_is_nan_on_both_sides():
    table = jnp.asarray([[1.0], [2.0]])
    np.testing.assert_array_equal(lookup(table, jnp.asarray([1, 2, -1])), [[2], [np.nan], [np.nan]])


FREQUENCIES = (1.0, 10000**-0.5, 1e-4, 3.7, 100.0, -0.3)


@pytest.mark.parametrize(
    "positions",
    [
        np.array([0, 1, 2, 255, 257]),
        np.array([10**5, 10**6, 10**6 + 1, 2**24 - 1]),
        np.array([-1, -37, -(10**6)]),
    ],
    ids=["small", "large", "negative"],
)
def test_angles_of_whole_positions_are_exact_up_to_whole_turns(positions):
    found = np.asarray(angles(jnp.asarray(positions), FREQUENCIES), np.float64)
    exact = np.outer(positions, FREQUENCIES)
    assert np.abs(found).max() <= np.pi + 1e-6
    np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * exact), atol=1e-6)


def test_angles_of_fractions_are_exact_too():
    positions = np.array([0.25, -0.75, 3.5, 1000.125, 99999.5], np.float32)
    found = np.asarray(angles(jnp.asarray(positions), FREQUENCIES), np.float64)
    np.testing.assert_allclose(
        np.exp(1j * found), np.exp(1j * np.outer(positions.astype(float), FREQUENCIES)), atol=2e-6
    )


def test_a_plain_float32_product_is_not():
    product = np.float32(10**6) * np.float32(3**-0.5)
    assert abs(np.exp(1j * float(product)) - np.exp(1j * 10**6 * 3**-0.5)) > 1e-3


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_rotate_turns_the_pairs_of_its_layout_and_leaves_the_rest(layout):
    x, angle = (
        jnp.arange(1.0, 7.0).reshape(1, 1, 1, 6),
        jnp.asarray([np.pi / 2, np.pi]).reshape(1, 1, 1, 2),
    )
    expected = [-2, 1, -3, -4, 5, 6] if layout == "interleaved" else [-3, -2, 1, -4, 5, 6]
    np.testing.assert_allclose(rotate(x, angle, layout)[0, 0, 0], expected, atol=1e-5)
    np.testing.assert_allclose(
        rotate(x, angle, layout, 2.0)[0, 0, 0], [*(2 * n for n in expected[:4]), 5, 6], atol=1e-5
    )


def test_a_fraction_is_no_index_of_a_table():
    with pytest.raises(TypeError, match="A table is read at whole positions, got float32"):
        lookup(jnp.zeros((2, 1)), jnp.asarray([0.5]))


def test_each_query_takes_its_values_at_the_rows_of_the_keys():
    by_row = jnp.arange(12.0).reshape(1, 2, 2, 3)  # two heads, two queries, three rows
    rows = jnp.asarray([[2, 0, 0, 1], [1, 1, 2, 0]])[None, None]
    expected = [[[2, 0, 0, 1], [4, 4, 5, 3]], [[8, 6, 6, 7], [10, 10, 11, 9]]]
    np.testing.assert_array_equal(take_rows(by_row, rows)[0], expected)
