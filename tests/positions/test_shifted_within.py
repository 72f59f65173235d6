import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.positions.shifted_within import ShiftedWithin

ARGUMENTS = {"total": 40}  # of the laws
REFUSALS = [
    (dict(total=0), "at least 1, got 0"),
]


def starts(scheme, num_tokens, train=True, n=600):
    mask = jnp.broadcast_to(jnp.arange(6) < num_tokens, (n, 6))
    positions = np.asarray(scheme(jax.random.split(jax.random.key(0), n), mask, train=train)[0])
    np.testing.assert_array_equal(np.diff(positions[:, :num_tokens], axis=1), 1)
    return positions[:, 0]


@pytest.mark.slow
def test_starts_are_uniform_and_end_where_the_last_token_has_the_last_position():
    counts = np.bincount(starts(ShiftedWithin(8), num_tokens=3))
    assert len(counts) == 6  # 8 positions, of which 3 tokens take up the last ones
    assert counts.min() > 60  # 100 expected, standard deviation 9


@pytest.mark.slow
def test_each_example_has_a_range_of_its_own():
    assert set(starts(ShiftedWithin(8), num_tokens=6)) == {0, 1, 2}


def test_in_evaluation_and_where_the_total_is_too_small_it_starts_at_zero():
    assert set(starts(ShiftedWithin(8), num_tokens=3, train=False)) == {0}
    assert set(starts(ShiftedWithin(2), num_tokens=3)) == {0}


def test_bound_is_the_last_position_in_training_alone():
    scheme = ShiftedWithin(8)
    assert (scheme.bound(4, True), scheme.bound(4, False), scheme.bound(10, True)) == (7, 3, 9)
