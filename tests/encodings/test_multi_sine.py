import numpy as np

from pe_lab.encodings.multi_sine import MultiSine
from tests.encodings import codes

SENSITIVE = {"base": (10000.0, 100.0)}


def test_equation():
    p, k = np.array([0, 1, 7, 50]), np.arange(6)
    np.testing.assert_allclose(
        codes.embed(MultiSine(width=6, rngs=codes.rngs()), p),
        np.sin(p[:, None] / 10000.0 ** (k / 6)),
        atol=2e-6,
    )
