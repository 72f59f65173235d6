import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.papers.positions.cape import CAPE
from pe_lab.encodings.sinusoidal import Sinusoidal

VARIANTS = {
    "normalized": {"normalize": True},
    "only shifted": {"max_local_shift": 0.0, "max_global_scaling": 1.0},
}
REFUSALS = [
    (dict(max_global_shift=-1.0), "max_global_shift must be 0 or more, got -1"),
    (dict(max_local_shift=-0.5), r"max_local_shift must be 0 or more, got -0\.5"),
    (dict(max_global_scaling=0.9), r"max_global_scaling must be 1 or more, got 0\.9"),
]

STILL = dict(max_global_shift=0.0, max_local_shift=0.0, max_global_scaling=1.0)


def of(n=2000, length=3, train=True, **arguments):
    mask = jnp.ones((n, length), bool)
    return np.asarray(
        CAPE(**arguments)(jax.random.split(jax.random.key(0), n), mask, train=train)[0]
    )


def assert_uniform(values, low, high):
    """2000 or more values: 200 in each tenth expected, standard deviation 13."""
    counts = np.histogram(values, bins=10, range=(low, high))[0]
    assert counts.sum() == values.size
    assert counts.min() > 0.7 * values.size / 10
    assert counts.max() < 1.3 * values.size / 10


@pytest.mark.full
def test_one_shift_an_example_is_uniform_either_way():
    drawn = of(**STILL | dict(max_global_shift=5.0))
    np.testing.assert_allclose(np.diff(drawn, axis=1), 1, rtol=1e-5)
    assert_uniform(drawn[:, 0], -5, 5)


@pytest.mark.slow
def test_one_jitter_a_token_is_uniform_either_way():
    jitter = of(**STILL | dict(max_local_shift=0.5)) - np.arange(3)
    assert_uniform(jitter, -0.5, 0.5)
    assert abs(np.corrcoef(jitter[:, 0], jitter[:, 1])[0, 1]) < 0.1


@pytest.mark.slow
def test_one_factor_an_example_is_uniform_in_its_logarithm():
    drawn = of(**STILL | dict(max_global_scaling=4.0))
    np.testing.assert_allclose(drawn[:, 2], 2 * drawn[:, 1], rtol=1e-6)
    assert_uniform(np.log(drawn[:, 1]), -math.log(4), math.log(4))


@pytest.mark.full
def test_shifts_are_stretched_too():
    """The last position reaches (n - 1 + shift) * factor, not (n - 1) * factor + shift."""
    drawn = of(n=20_000, **STILL | dict(max_global_shift=6.0, max_global_scaling=2.0))
    assert 15.5 < drawn[:, 2].max() <= 16
    assert -12 <= drawn[:, 0].min() < -11.5


def test_draws_are_independent():
    drawn = of(**STILL | dict(max_global_shift=1.0, max_global_scaling=2.0))
    factor = drawn[:, 1] - drawn[:, 0]
    assert abs(np.corrcoef(factor, drawn[:, 0] / factor)[0, 1]) < 0.1
    drawn = of(**STILL | dict(max_global_shift=1.0, max_local_shift=0.5))
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 2] - drawn[:, 1])[0, 1]) < 0.1


@pytest.mark.full
def test_normalized_positions_have_mean_zero_over_the_tokens():
    mask = jnp.arange(6)[None] < jnp.asarray([6, 3])[:, None]
    out = CAPE(**STILL, normalize=True)(jax.random.split(jax.random.key(0), 2), mask, train=True)[0]
    assert out.tolist() == [[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], [-1, 0, 1, 0, 0, 0]]
    np.testing.assert_array_equal(of(n=1, train=False, normalize=True), [[-1, 0, 1]])


def test_in_evaluation_nothing_is_drawn():
    np.testing.assert_array_equal(of(train=False), np.broadcast_to(np.arange(3), (2000, 3)))


@pytest.mark.slow
def test_the_sinusoids_of_its_positions_are_the_papers():
    """The reference entry cape1d_freq_d8: sin(p f_k + pi / 2 (k % 2)) at p = 1, 2."""
    code = Sinusoidal(width=8, rngs=nnx.Rngs(0)).embed(jnp.asarray(of(n=1, train=False)))[0, 1:]
    value = [
        [
            0.8414709848,
            0.5403023059,
            0.09983341665,
            0.9950041653,
            0.009999833334,
            0.9999500004,
            0.0009999998333,
            0.9999995,
        ],
        [
            0.9092974268,
            -0.4161468365,
            0.1986693308,
            0.9800665778,
            0.01999866669,
            0.9998000067,
            0.001999998667,
            0.999998,
        ],
    ]
    np.testing.assert_allclose(code, value, atol=1e-6)


def test_traits_follow_the_arguments():
    assert (CAPE().reads_length, CAPE(normalize=True).reads_length) == (False, True)
    assert (CAPE().ascending, CAPE(max_local_shift=0.6).ascending) == (True, False)
    crossing = of(max_local_shift=1.0)
    assert (np.diff(crossing, axis=1) < 0).any()


@pytest.mark.parametrize(
    ("normalize", "train", "bound"),
    [(False, False, 6), (True, False, 3), (False, True, 17), (True, True, 11)],
)
def test_bound_counts_every_draw(normalize, train, bound):
    arguments = dict(
        max_global_shift=2.0, max_local_shift=0.5, max_global_scaling=2.0, normalize=normalize
    )
    assert CAPE(**arguments).bound(7, train) == bound
    drawn = of(n=20_000, length=7, train=train, **arguments)
    assert 0.95 * bound < drawn.max() <= bound
