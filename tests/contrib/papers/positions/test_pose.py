import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.positions.pose import PoSE
from tests.marks import full

ARGUMENTS = {"target": 20}  # of the laws
REFUSALS = [
    (dict(target=0), "target must be at least 1, got 0"),
]


def of(target, n, train=True, draws=4000, padded=None):
    mask = jnp.broadcast_to(jnp.arange(padded or n) < n, (draws, padded or n))
    out = np.asarray(PoSE(target)(jax.random.split(jax.random.key(0), draws), mask, train=train)[0])
    assert (out[:, n:] == 0).all()
    return out[:, :n]


def chunks(drawn):
    """The first chunk's length and the skip of each example that skips."""
    gaps = np.diff(drawn, axis=1) - 1
    gaps = gaps[gaps.max(axis=1) > 0]
    assert ((gaps > 0).sum(axis=1) == 1).all()
    return gaps.argmax(axis=1) + 1, gaps.max(axis=1)


@pytest.mark.full
def test_the_reference_example_is_among_the_draws():
    """The entry pose_example: 8 tokens, the first chunk of 3, a skip of 5."""
    assert (of(13, 8) == [0, 1, 2, 8, 9, 10, 11, 12]).all(axis=1).any()


@pytest.mark.slow
@pytest.mark.parametrize("n", [7, 8])
def test_split_and_skip_are_uniform_and_reach_both_ends(n):
    """4000 draws of 4 splits and 6 skips, of which a skip of 0 hides its split."""
    drawn = of(n + 5, n)
    assert (drawn[:, 0] == 0).all()
    skips = np.bincount(drawn[:, -1] - (n - 1))
    assert len(skips) == 6
    assert skips.min() > 550  # 667 expected, standard deviation 24
    first, skip = chunks(drawn)
    splits = np.bincount(first)[1:]
    assert len(splits) == 4 == (n + 1) // 2
    assert splits.min() > 700  # 833 expected
    assert abs(np.corrcoef(first, skip)[0, 1]) < 0.1


@pytest.mark.slow
def test_ranges_are_of_the_true_length():
    first, skip = chunks(of(9, 3, padded=20))
    assert set(first) == {1, 2}
    assert set(skip) == {1, 2, 3, 4, 5, 6}


@pytest.mark.full
def test_what_is_as_long_as_the_target_or_longer_skips_nothing():
    for n in (6, 9):
        np.testing.assert_array_equal(of(6, n, draws=50), np.broadcast_to(np.arange(n), (50, n)))


def test_in_evaluation_it_is_contiguous():
    np.testing.assert_array_equal(
        of(100, 5, train=False, draws=50), np.broadcast_to(np.arange(5), (50, 5))
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "train", "bound"),
    [full(5, True, 11), (12, True, 11), (20, True, 19), (1, True, 0), (5, False, 4)],
)
def test_bound_is_reached(n, train, bound):
    assert PoSE(12).bound(n, train) == bound
    assert of(12, n, train, draws=300).max() == bound
