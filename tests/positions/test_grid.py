import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.positions.grid import Grid

ARGUMENTS = {"columns": 3}  # of the laws
REFUSALS = [
    ({"columns": 0}, "columns must be at least 1, got 0"),
    ({"max_position": 0}, "max_position must be at least 1, got 0"),
    (
        {"columns": 3, "max_position": 9},
        "columns=3 draws nothing, so it takes no max_position, got 9",
    ),
]


def of(columns, length, padded=None):
    mask = jnp.arange(padded or length)[None] < length
    return Grid(columns)(jax.random.split(jax.random.key(0), 1), mask, train=True)


BOARD = [
    [1, 1],
    [1, 2],
    [1, 3],
    [2, 1],
    [2, 2],
    [2, 3],
    [0, 0],
    [1, 1],
    [1, 2],
    [1, 3],
]  # 2 x 3, a separator, one row said


def followed(max_position, train, grid=BOARD, draws=1, mask=None):
    there = jnp.broadcast_to(jnp.asarray(mask or [1] * len(grid), bool), (draws, len(grid)))
    structure = {"grid": jnp.broadcast_to(jnp.asarray(grid), (draws, len(grid), 2))}
    keys = jax.random.split(jax.random.key(0), draws)
    return np.asarray(
        Grid(max_position=max_position)(keys, there, structure=structure, train=train)[0]
    )


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
    assert (
        of(columns, length).max()
        == Grid(columns).bound(length, True)
        == Grid(columns).bound(length, False)
    )


@pytest.mark.parametrize(("max_position", "train"), [(None, True), (None, False), (9, False)])
def test_it_says_what_the_task_says(max_position, train):
    np.testing.assert_array_equal(followed(max_position, train), [BOARD])


@pytest.mark.slow
def test_starts_are_uniform_and_independent_and_the_largest_position_is_the_most():
    """2 rows, 3 columns, positions to 6: 5 * 4 starts, 50 draws of each, standard deviation 7."""
    drawn = followed(6, train=True, draws=1000)
    start = drawn[:, 6]
    np.testing.assert_array_equal(drawn, np.asarray(BOARD)[None] + start[:, None])
    pairs, counts = np.unique(start, axis=0, return_counts=True)
    assert pairs.tolist() == [[row, column] for row in range(5) for column in range(4)]
    assert counts.min() > 20
    assert counts.max() < 80
    assert drawn.max(axis=(0, 1)).tolist() == [6, 6]


@pytest.mark.slow
def test_padding_is_zero_and_takes_no_room():
    drawn = followed(4, train=True, grid=[[1, 1], [1, 2], [9, 9]], mask=[1, 1, 0], draws=200)
    assert drawn[:, 2].max() == 0
    assert (set(drawn[:, 0, 0]), set(drawn[:, 0, 1])) == ({1, 2, 3, 4}, {1, 2, 3})


@pytest.mark.slow
def test_what_needs_every_position_or_more_starts_at_zero():
    for most in (2, 3):
        assert set(followed(most, True, draws=20)[:, 6, 1]) == {0}


@pytest.mark.parametrize(
    ("max_position", "train", "bound"), [(9, True, 9), (3, True, 5), (9, False, 5), (None, True, 5)]
)
def test_the_bound_of_one_row_is_reached(max_position, train, bound):
    """Of the longest part: a row of a prompt does not go on in the target."""
    scheme = Grid(max_position=max_position)
    row = [[1, 1], [1, 2], [1, 3], [1, 4], [1, 5]]
    assert (
        scheme.bound(5, train)
        == scheme.bound_on(0, 7, train, (5, 2))
        == scheme.bound_on(1, 7, train, (2, 5))
        == bound
    )
    assert (
        max(followed(max_position, train, grid, draws=200).max() for grid in (row, row[:1]))
        == bound
    )


def test_a_task_without_a_grid_is_refused():
    with pytest.raises(
        ValueError, match=r"Grid follows structure\['grid'\], one value a token, and was given none"
    ):
        Grid()(
            jax.random.split(jax.random.key(0), 1),
            jnp.ones((1, 3), bool),
            structure={"symbols": jnp.ones((1, 3), int)},
            train=False,
        )
