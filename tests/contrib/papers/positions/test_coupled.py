import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.positions.coupled import Coupled

ARGUMENTS = {"max_position": 12}  # of the laws
REFUSALS = [
    (dict(max_position=0), "max_position must be at least 1, got 0"),
]

# 653 + 49 = 702 with the answer reversed: digits of equal significance share a number.
ADDITION = [3, 2, 1, 0, 2, 1, 0, 1, 2, 3]


def of(max_position, train, coupled=ADDITION, draws=1, mask=None):
    there = jnp.broadcast_to(jnp.asarray(mask or [1] * len(coupled), bool), (draws, len(coupled)))
    structure = {"coupled": jnp.broadcast_to(jnp.asarray(coupled), there.shape)}
    return np.asarray(
        Coupled(max_position)(
            jax.random.split(jax.random.key(0), draws), there, structure=structure, train=train
        )[0]
    )


def test_agrees_with_reference():
    """The entry position_coupling_addition: the operands, their signs at the start, the answer."""
    assert of(22, train=False).tolist() == [[4, 3, 2, 1, 3, 2, 1, 2, 3, 4]]


@pytest.mark.slow
def test_starts_are_uniform_and_the_largest_position_is_the_most():
    drawn = of(8, train=True, draws=1000)
    start = drawn[:, 3]
    np.testing.assert_array_equal(drawn, np.asarray(ADDITION) + start[:, None])
    counts = np.bincount(start)
    assert (len(counts), counts[0]) == (6, 0)  # 1..5, as 5 + 3 is 8
    assert counts[1:].min() > 150  # 200 expected, standard deviation 13
    assert drawn.max() == 8


@pytest.mark.slow
def test_the_start_leaves_room_for_the_example_and_not_for_its_padding():
    drawn = of(8, train=True, coupled=[1, 2, 7, 7], mask=[1, 1, 0, 0], draws=300)
    assert set(drawn[:, 0]) == {2, 3, 4, 5, 6, 7}
    assert drawn[:, 2:].max() == 0


@pytest.mark.slow
def test_what_needs_every_position_or_more_starts_at_one():
    for most in (3, 4):
        np.testing.assert_array_equal(
            of(most, True, draws=20), np.broadcast_to(of(most, False), (20, 10))
        )


@pytest.mark.parametrize(
    ("max_position", "train", "bound"), [(9, True, 9), (3, True, 5), (9, False, 5)]
)
def test_bound_is_reached(max_position, train, bound):
    assert Coupled(max_position).bound(4, train) == bound
    assert (
        max(
            of(max_position, train, [1, 2, 3, 4][:n] + [0] * (4 - n), draws=200).max()
            for n in (1, 4)
        )
        == bound
    )
