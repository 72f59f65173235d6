import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.positions.packed import Packed

# The reference entry packed_positions; bonsai gives 1 2 3 5 7 10 10 10 here.
SEGMENTS = jnp.asarray([[1, 1, 1, 2, 2, 3, 0, 0]])
POSITIONS = [0, 1, 2, 0, 1, 0, 0, 0]


def of(segments, mask):
    return Packed()(
        jax.random.split(jax.random.key(0), len(mask)), mask, segments=segments, train=True
    )


def test_positions_restart_at_every_segment_and_padding_is_zero():
    assert of(SEGMENTS, SEGMENTS > 0).tolist() == [[POSITIONS]]


def test_ids_are_names_not_numbers():
    """What a cumulative sum of the ids gets wrong."""
    renamed = jnp.asarray([[7, 7, 7, 4, 4, 9, 0, 0]])
    assert of(renamed, SEGMENTS > 0).tolist() == [[POSITIONS]]


def test_each_context_has_segments_of_its_own():
    segments = jnp.asarray([[1, 2, 2, 2], [1, 1, 1, 2]])
    assert of(segments, segments > 0).tolist() == [[[0, 0, 1, 2], [0, 1, 2, 0]]]


def test_without_segments_it_is_contiguous():
    mask = jnp.asarray([[1, 1, 0], [1, 1, 1]], bool)
    np.testing.assert_array_equal(of(None, mask), [[[0, 1, 0], [0, 1, 2]]])


def test_bound_is_the_last_index():
    assert Packed().bound(5, True) == Packed().bound(5, False) == 4
