import math

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.learnable_fourier import LearnableFourier
from tests import reference
from tests.encodings import codes

ARGUMENTS = {"num_features": 6, "hidden_width": 5}
SENSITIVE = {
    "num_features": (6, 8),
    "hidden_width": (5, 4),
    "gamma": (10.0, 1.0),
    "num_axes": (1, 2),
}
REFUSALS = [
    (dict(num_features=7, hidden_width=5), r"even num_features.* got 7, 5 and 1"),
]


def built(**arguments):
    return LearnableFourier(
        **{"num_features": 6, "hidden_width": 5, "width": 4, "rngs": codes.rngs(), **arguments}
    )


@pytest.mark.slow
def test_features_agree_with_reference_on_two_axes():
    given = reference.entry("learnable_fourier_features_F6")["inputs"]
    encoding = built(num_axes=2)
    encoding.frequencies[...] = jnp.asarray(given["Wr"])
    reference.assert_agrees(
        encoding.fourier_features(jnp.asarray(given["x"])[None])[0], "learnable_fourier_features_F6"
    )


@pytest.mark.slow
def test_the_code_agrees_with_the_equation_in_float64():
    encoding = built()
    w, w1, b1, w2, b2 = (
        np.asarray(p, np.float64)
        for p in (
            encoding.frequencies,
            encoding.into.kernel,
            encoding.into.bias,
            encoding.out.kernel,
            encoding.out.bias,
        )
    )
    places = [0, 1, 7, 30]
    for p, found in zip(places, codes.embed(encoding, places), strict=True):
        f = np.concatenate([np.cos(w[:, 0] * p), np.sin(w[:, 0] * p)]) / np.sqrt(6)
        h = f @ w1 + b1
        gelu = np.array([x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in h])
        np.testing.assert_allclose(found, gelu @ w2 + b2, atol=1e-5)


@pytest.mark.slow
def test_frequencies_start_with_a_spread_of_one_over_gamma():
    w = built(num_features=8000, gamma=4.0).frequencies[...]
    np.testing.assert_allclose(w.std(), 0.25, rtol=0.05)
