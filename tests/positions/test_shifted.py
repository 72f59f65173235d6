import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.positions.shifted import Shifted

ARGUMENTS = {"max_shift": 20}  # of the laws
REFUSALS = [
    (dict(max_shift=-1), "0 or more, got -1"),
]


def starts(scheme, train, n=600):
    mask = jnp.ones((n, 3), bool)
    out = np.asarray(scheme(jax.random.split(jax.random.key(0), n), mask, train=train)[0])
    np.testing.assert_array_equal(np.diff(out, axis=1), np.ones((n, 2)))
    return out[:, 0]


@pytest.mark.slow
def test_starts_are_uniform_up_to_and_with_the_maximum_in_training():
    counts = np.bincount(starts(Shifted(5), train=True))
    assert len(counts) == 6
    assert counts.min() > 60  # 100 expected, standard deviation 9


def test_in_evaluation_it_starts_at_zero():
    assert set(starts(Shifted(5), train=False)) == {0}


def test_bound_counts_the_shift_in_training_alone():
    assert (Shifted(5).bound(4, True), Shifted(5).bound(4, False)) == (8, 3)
