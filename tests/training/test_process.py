"""Products of float32 have float32's precision on every device; a CPU's programs stay the same."""

import jax
import pytest

from pe_lab.training import process


@pytest.fixture
def precision():
    """Reads JAX's precision of products, and sets it back after the test."""
    before = jax.config.jax_default_matmul_precision
    yield lambda: jax.config.jax_default_matmul_precision
    jax.config.update("jax_default_matmul_precision", before)


@pytest.mark.parametrize(("backend", "expected"), [("cpu", None), ("gpu", "highest")])
def test_products_of_float32_are_not_rounded(backend, expected, precision, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    process.compute_float32_products()
    assert precision() == expected
