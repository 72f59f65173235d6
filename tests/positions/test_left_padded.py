import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.positions.contiguous import Contiguous
from pe_lab.positions.left_padded import LeftPadded


def of(mask, scheme=LeftPadded()):
    return scheme(
        jax.random.split(jax.random.key(0), len(mask)), jnp.asarray(mask, bool), train=True
    )


def test_padding_in_front_is_not_counted():
    """The reference entry left_padded_positions."""
    assert of([[0, 0, 1, 1, 1]]).tolist() == [[[0, 0, 0, 1, 2]]]


def test_padding_anywhere_is_not_counted_and_is_zero():
    assert of([[0, 1, 0, 0, 1, 1, 0], [0] * 7]).tolist() == [[[0, 0, 0, 0, 1, 2, 0], [0] * 7]]


def test_with_padding_behind_it_is_contiguous():
    for length in (1, 4, 6):
        mask = [[1] * length + [0] * (6 - length)]
        np.testing.assert_array_equal(of(mask), of(mask, Contiguous()))


def test_bound_is_the_last_index():
    assert LeftPadded().bound(5, True) == LeftPadded().bound(5, False) == 4
