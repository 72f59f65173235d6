import jax
import jax.numpy as jnp
import pytest

from pe_lab.positions.two_stream import TwoStream


def of(parts, segments=None):
    parts, there = jnp.asarray(parts), jnp.ones((len(parts), len(parts[0])), bool)
    keys = jax.random.split(jax.random.key(0), len(parts))
    return TwoStream()(keys, there, segments=segments, structure={"parts": parts}, train=True)


@pytest.mark.slow
def test_place_inside_a_part_comes_first_and_the_part_second():
    """By hand: BiPE's ids of sentences of 3, 1 and 2 tokens."""
    out = of([[0, 0, 0, 1, 2, 2]])
    assert out.shape == (1, 1, 6, 2)
    assert out[0, 0, :, 0].tolist() == [0, 1, 2, 0, 0, 1]
    assert out[0, 0, :, 1].tolist() == [0, 0, 0, 1, 2, 2]


@pytest.mark.slow
def test_parts_are_told_apart_by_change_and_not_by_value():
    assert of([[5, 5, 0, 5, 5, 5]])[0, 0].T.tolist() == [[0, 1, 0, 0, 1, 2], [0, 0, 1, 2, 2, 2]]


@pytest.mark.slow
def test_an_example_of_its_own_is_a_part_of_its_own():
    segments = jnp.asarray([[1, 1, 2, 2, 2]])
    assert of([[1, 1, 1, 1, 0]], segments=segments)[0, 0].T.tolist() == [
        [0, 1, 0, 1, 0],
        [0, 0, 1, 1, 2],
    ]


@pytest.mark.slow
def test_bound_is_reached_on_each_axis():
    assert TwoStream().bound(4, True) == TwoStream().bound(4, False) == 3
    assert of([[0, 0, 0, 0]])[..., 0].max() == 3
    assert of([[0, 1, 2, 3]])[..., 1].max() == 3
