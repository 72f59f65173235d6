import jax
import jax.numpy as jnp

from pe_lab.positions.contiguous import Contiguous


def test_one_row_for_the_whole_batch():
    mask = jnp.asarray([[1, 1, 0, 0], [1, 1, 1, 0]], bool)
    assert Contiguous()(jax.random.split(jax.random.key(0), 2), mask, train=True).tolist() == [
        [[0, 1, 2, 0]]
    ]


def test_bound_is_the_last_index():
    assert Contiguous().bound(5, True) == Contiguous().bound(5, False) == 4
