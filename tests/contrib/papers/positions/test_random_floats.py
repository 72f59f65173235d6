import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.positions.random_floats import RandomFloats

ARGUMENTS = {"train_length": 5}  # of the laws
REFUSALS = [
    (dict(train_length=4, maximum=0.0), "maximum must be more than 0, got 0"),
    (dict(train_length=0), "train_length must be at least 1, got 0"),
]


def of(scheme, lengths, train, padded=None):
    mask = jnp.arange(padded or max(lengths))[None] < jnp.asarray(lengths)[:, None]
    return np.asarray(
        scheme(jax.random.split(jax.random.key(0), len(lengths)), mask, train=train)[0]
    )


@pytest.mark.slow
def test_in_training_positions_are_sorted_uniforms():
    """Order statistic i of 4 has mean i / 5 and standard deviation at most 0.2; 2000 draws."""
    drawn = of(RandomFloats(8), [4] * 2000, train=True)
    np.testing.assert_allclose(drawn.mean(axis=0), [0.2, 0.4, 0.6, 0.8], atol=0.02)
    counts = np.histogram(drawn, bins=10, range=(0, 1))[0]
    assert counts.sum() == 8000
    assert counts.min() > 700
    assert drawn.min() < 0.001
    assert 0.999 < drawn.max() < 1


@pytest.mark.slow
def test_each_example_uses_the_whole_range_whatever_its_length():
    drawn = of(RandomFloats(8, maximum=10.0), [2] * 1000 + [6] * 1000, train=True)
    np.testing.assert_allclose(drawn[:1000, :2].mean(), 5, atol=0.3)
    np.testing.assert_allclose(drawn[1000:].mean(), 5, atol=0.3)
    assert (drawn[:1000, 2:] == 0).all()
    assert 9.9 < drawn.max() < 10


@pytest.mark.slow
def test_in_evaluation_positions_are_the_middles_of_equal_parts():
    """By hand: N = 4 up to four tokens, 5 for five."""
    out = of(RandomFloats(4), [3, 4, 5], train=False)
    np.testing.assert_allclose(
        out,
        [[1 / 8, 3 / 8, 5 / 8, 0, 0], [1 / 8, 3 / 8, 5 / 8, 7 / 8, 0], [0.1, 0.3, 0.5, 0.7, 0.9]],
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        of(RandomFloats(4, maximum=80.0), [3], train=False), [[10, 30, 50]], rtol=1e-6
    )


@pytest.mark.slow
def test_bound_is_the_end_of_the_range_in_training_and_the_last_middle_in_evaluation():
    scheme = RandomFloats(4, maximum=80.0)
    assert scheme.bound(3, True) == scheme.bound(9, True) == 80
    for n in (1, 3, 4, 7):
        np.testing.assert_allclose(
            of(scheme, [n], train=False).max(), scheme.bound(n, False), rtol=1e-6
        )
