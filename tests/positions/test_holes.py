import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.positions.holes import Holes

ARGUMENTS = {"max_shift": 5}  # of the laws
VARIANTS = {"block": {"period": 7, "size": 4}}
REFUSALS = [
    ({"max_shift": -1}, "holes's max_shift must be 0 or more, got -1."),
    ({"max_shift": 0, "size": 0}, "size must be from 1 to period - 1 = 2, got 0."),
    ({"max_shift": 0, "size": 3}, "size must be from 1 to period - 1 = 2, got 3."),
]


def of(scheme, length, train=False, draws=1):
    mask = jnp.ones((draws, length), bool)
    return np.asarray(scheme(jax.random.split(jax.random.key(0), draws), mask, train=train)[0])


def test_evaluation_counts_the_positions_outside_of_the_holes():
    assert of(Holes(0), 6).tolist() == [[0, 1, 3, 4, 6, 7]]
    assert of(Holes(0, period=2), 4).tolist() == [[0, 2, 4, 6]]
    assert of(Holes(0, period=5, size=3), 5).tolist() == [[0, 1, 5, 6, 10]]


def test_training_fills_all_positions_but_the_holes():
    trained = of(Holes(4, period=5, size=2), 6, train=True, draws=300)
    assert set(trained.ravel().tolist()) == {0, 1, 2, 5, 6, 7, 10, 11, 12, 15}
    assert set(trained[:, 0].tolist()) == {0, 1, 2, 5, 6}


def test_an_offset_moves_tokens_into_the_holes_and_keeps_distances():
    positions = of(Holes(0, period=2), 5)
    trained = of(Holes(9, period=2), 5, train=True, draws=300)
    assert not np.isin(positions + 1, trained).any()
    assert np.isin(positions + 2, trained).all()


@pytest.mark.parametrize(
    ("scheme", "length", "train", "bound"),
    [
        (Holes(0), 6, False, 7),
        (Holes(3), 6, False, 7),
        (Holes(3), 6, True, 12),
        (Holes(1, period=5, size=3), 5, True, 11),
    ],
)
def test_bound_is_reached(scheme, length, train, bound):
    assert scheme.bound(length, train) == bound
    assert of(scheme, length, train, draws=100).max() == bound
