"""Products of float32 have float32's precision on every device; a CPU's programs stay the same."""

import jax
import pytest

from pe_lab.runs.records import run_group_files
from pe_lab.training import devices, process
from pe_lab.training.trained_runs import load
from tests import tiny


@pytest.fixture
def precision():
    """Reads JAX's precision of products, and sets it back after the test."""
    before = jax.config.jax_default_matmul_precision
    yield lambda: jax.config.jax_default_matmul_precision
    jax.config.update("jax_default_matmul_precision", before)


@pytest.mark.parametrize(("backend", "expected"), [("cpu", None), ("gpu", "highest")])
def test_products_of_float32_are_not_rounded(backend, expected, precision, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    devices.compute_float32_products()
    assert precision() == expected


def test_training_and_what_loads_its_parameters_ask_for_it(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(devices, "compute_float32_products", lambda: calls.append("asked"))
    group = tiny.group("rope", seeds=1, train__steps=2)
    file = run_group_files.write(group, tmp_path)
    assert process.main(file, tmp_path) == 0
    assert len(calls) == 1
    load(tmp_path, group.run.run_id)
    assert len(calls) == 2
