import jax
import jax.numpy as jnp
import pytest

from pe_lab.positions.grid import Grid


def of(columns, length, padded=None):
    mask = jnp.arange(padded or length)[None] < length
    return Grid(columns)(jax.random.split(jax.random.key(0), 1), mask, train=True)


def test_each_axis_has_its_own_bound():
    assert [Grid(3).bound_on(axis, 8, True, (8,)) for axis in range(2)] == [2, 2]
    assert [Grid(9).bound_on(axis, 8, True, (8,)) for axis in range(2)] == [0, 7]


def test_row_after_row_and_the_row_first():
    """By hand, as the two-axis codes of images count: 2 rows of 3."""
    assert of(3, 6)[0, 0].tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]


def test_the_last_row_may_be_short_and_padding_is_zero():
    assert of(2, 3, padded=5)[0, 0].tolist() == [[0, 0], [0, 1], [1, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("length", [1, 2, 6, 7])
def test_bound_is_reached(columns, length):
    assert of(columns, length).max() == Grid(columns).bound(length, True) == Grid(columns).bound(length, False)


def test_no_columns_are_refused():
    with pytest.raises(ValueError, match="columns must be at least 1, got 0"):
        Grid(0)
