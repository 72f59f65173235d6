import numpy as np
import pytest

from pe_lab.encodings.multi_sine import MultiSine
from tests import reference
from tests.encodings import codes

SENSITIVE = {"base": (10000.0, 100.0)}


def test_equation():
    p, k = np.array([0, 1, 7, 50]), np.arange(6)
    np.testing.assert_allclose(
        codes.embed(MultiSine(width=6, rngs=codes.rngs()), p),
        np.sin(p[:, None] / 10000.0 ** (k / 6)),
        atol=2e-6,
    )


@pytest.mark.slow
def test_agrees_with_the_reference_diagnostics():
    """Smallest distance and mean squared norm of the embeddings of 64 positions in 16 channels."""
    c = codes.embed(MultiSine(width=16, rngs=codes.rngs()), range(64)).astype(np.float64)
    expected = reference.entry("diag_multi_sine_d16")["value"]
    distance = np.linalg.norm(c[:, None] - c[None], axis=-1)
    assert abs(distance[~np.eye(64, dtype=bool)].min() - expected["uniqueness_min_dist"]) < 1e-4
    assert abs((c**2).sum(axis=1).mean() - expected["mean_sq_norm"]) < 1e-4


def test_no_linear_map_shifts_it():
    """Unlike for sine-cosine pairs, the best rotation leaves a residual at other positions."""
    c = codes.embed(MultiSine(width=16, rngs=codes.rngs()), range(64)).astype(np.float64)
    u, _, v = np.linalg.svd(c[:30].T @ c[5:35])
    residual = ((c[30:59] @ u @ v - c[35:]) ** 2).sum() / ((c[35:] - c[35:].mean(0)) ** 2).sum()
    assert residual > 0.3
