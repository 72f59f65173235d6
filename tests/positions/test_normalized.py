import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.positions.normalized import Normalized
from tests import reference


@pytest.mark.slow
def test_agrees_with_reference_for_each_true_length():
    mask = jnp.arange(9)[None] < jnp.asarray([5, 9])[:, None]
    out = Normalized()(jax.random.split(jax.random.key(0), 2), mask, train=False)[0]
    value = reference.entry("seed_normalized_index_L5")["value"]
    np.testing.assert_allclose(out[0], [*value["L5"], 0, 0, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(out[1], value["L9"], rtol=1e-6)


def test_a_lone_token_has_zero():
    assert Normalized()(
        jax.random.split(jax.random.key(0), 1), jnp.asarray([[True, False]]), train=False
    ).tolist() == [[[0, 0]]]


def test_bound_is_one():
    assert Normalized().bound(5, True) == Normalized().bound(5, False) == 1
