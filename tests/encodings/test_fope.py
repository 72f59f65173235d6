import jax.numpy as jnp
import numpy as np

from pe_lab.encodings.fope import FoPE
from tests.encodings import codes

SENSITIVE = {
    "trained_length": (512, 16),
    "base": (10000.0, 100.0),
    "gain": (0.3, 3.0),
    "learn": (False, True),
    "draw": (0, 1),
}
REFUSALS = [
    (dict(head_dim=6), "4 must divide the head width, got 6"),
    (dict(head_dim=16, trained_length=6), "which is 7 or more, got trained_length=6"),
]
# FourierEmbedding of TsinghuaC3I/Fourier-Position-Embedding at bd94b20 with n_heads=2, d_model=32,
# max_sequence_length=64, rope_theta=100 and the coefficients of `built`: the queries
# `codes.numbers(1, 3, 2, 16)` of the last of 3 tokens, in the channels of the pairs with a series.
REFERENCE = [
    [0.222078, -0.014998, -0.212969, -0.089067, -0.473226, -0.015373, -0.54704, -0.017374],
    [0.596294, -0.110648, -0.037439, -0.01687, 0.018281, -0.060437, 0.375093, 0.136483],
]


def built(**arguments):
    return FoPE(**{"num_heads": 2, "head_dim": 16, **arguments})


def test_agrees_with_the_authors_code():
    encoding = built(trained_length=64, base=100.0, learn=True)
    encoding.coefficients[...] = jnp.asarray(codes.numbers(*encoding.coefficients.shape))
    t, x = codes.tokens(range(3)), jnp.asarray(codes.numbers(1, 3, 2, 16))
    q, k = encoding.transform_qk(x, x, t, t)
    with_series = [*range(4), *range(8, 12)]
    np.testing.assert_allclose(q[0, -1][:, with_series], REFERENCE, atol=1e-5)
    np.testing.assert_array_equal(q, k)
    # The other pairs stay as they are.
    without = [*range(4, 8), *range(12, 16)]
    np.testing.assert_array_equal(q[..., without], x[..., without])


def test_frequencies_complete_a_period_in_the_trained_length():
    """base^(-2n / 16) for base 10^4 is 10^(-n/2), and 2 pi / 64 is 0.098."""
    np.testing.assert_allclose(built(trained_length=64).frequencies, [1, 10**-0.5, 0.1])
    np.testing.assert_allclose(built(trained_length=7).frequencies, [1])


def test_without_noise_each_pair_is_one_frequency():
    encoding = built(gain=0.0, trained_length=10**6)
    # All 8 frequencies are kept, and the 4 pairs have every second one.
    sines = np.reshape(encoding.fixed, encoding.shape)[0, 0]
    assert np.argwhere(sines).tolist() == [[0, 0], [2, 1], [4, 2], [6, 3]]


def test_the_noise_has_xaviers_spread():
    """gain * sqrt(2 / ((N + H) M)) for 8 frequencies, 50 heads and 4 pairs, 3200 numbers."""
    encoding = built(num_heads=50, trained_length=10**6, gain=0.6)
    coefficients = np.reshape(encoding.fixed, encoding.shape)
    noise = coefficients - (coefficients > 0.5)
    np.testing.assert_allclose(noise.std(), 0.6 * np.sqrt(2 / (58 * 4)), rtol=0.05)
