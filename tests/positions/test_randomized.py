import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.positions.base import sorted_subset
from pe_lab.positions.randomized import Randomized

ARGUMENTS = {"maximum": 40, "per": "example"}  # of the laws
VARIANTS = {"per layer": {"per_layer": True}}
REFUSALS = [
    (dict(maximum=0), "at least 1, got 0"),
]


def keys(n, seed=0):
    return jax.random.split(jax.random.key(seed), n)


@pytest.mark.slow
def test_every_subset_is_equally_likely():
    """10 subsets of 2 of 5, 2000 draws: 200 of each expected, standard deviation 13."""
    drawn = jax.vmap(lambda k: sorted_subset(k, jnp.asarray(2), 5, 4))(keys(2000))
    counts = dict.fromkeys(itertools.combinations(range(5), 2), 0)
    for row in np.asarray(drawn):
        counts[tuple(row[:2].tolist())] += 1
        assert row[2:].tolist() == [0, 0]
    assert min(counts.values()) > 140
    assert max(counts.values()) < 260


@pytest.mark.slow
def test_a_full_range_is_the_range():
    assert sorted_subset(jax.random.key(0), jnp.asarray(5), 5, 5).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.full
def test_per_batch_shares_one_draw_in_training_and_none_in_evaluation():
    mask, scheme = jnp.ones((3, 6), bool), Randomized(maximum=50, per="batch")
    assert scheme(keys(3), mask, train=True).shape == (1, 3, 6)
    assert len({tuple(r) for r in np.asarray(scheme(keys(3), mask, train=True)[0])}) == 1
    assert len({tuple(r) for r in np.asarray(scheme(keys(3), mask, train=False)[0])}) == 3


@pytest.mark.full
def test_per_example_draws_for_each():
    out = Randomized(maximum=50, per="example")(keys(3), jnp.ones((3, 6), bool), train=True)
    assert len({tuple(r) for r in np.asarray(out[0])}) == 3


@pytest.mark.full
def test_per_layer_draws_for_each_layer_and_the_first_is_the_shared_one():
    mask = jnp.ones((2, 6), bool)
    layers = Randomized(maximum=50, per="example", per_layer=True, num_layers=3)(
        keys(2), mask, train=True
    )
    once = Randomized(maximum=50, per="example", num_layers=3)(keys(2), mask, train=True)
    assert (layers.shape, once.shape) == ((3, 2, 6), (1, 2, 6))
    assert len({tuple(r) for r in np.asarray(layers[:, 0])}) == 3
    np.testing.assert_array_equal(layers[0], once[0])


def test_it_has_no_more_positions_than_its_maximum():
    assert Randomized(maximum=50).max_length == 50
    assert Randomized(maximum=50).bound(3, True) == Randomized(maximum=50).bound(3, False) == 49
