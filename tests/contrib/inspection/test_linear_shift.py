import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.inspection import linear_shift
from pe_lab.encodings.sinusoidal import Sinusoidal
from tests import reference
from tests.contrib.inspection import tables

SHIFT = 5
FAR = np.random.default_rng(0).permutation(2**16)[:1024]


def residual(code, method="orthogonal"):
    return linear_shift.residual(code(FAR), code(FAR + SHIFT), 512, method)


@pytest.mark.parametrize("shift", [1, 3, -7])
def test_the_map_of_pairs_takes_every_code_to_the_one_a_shift_later(shift):
    M, p = linear_shift.rotation_map(tables.frequencies(), shift), np.arange(-20, 500)
    np.testing.assert_allclose(tables.sinusoidal(p) @ M.T, tables.sinusoidal(p + shift), atol=1e-12)
    np.testing.assert_allclose(M @ M.T, np.eye(len(M)), atol=1e-12)


def test_it_is_the_reference():
    reference.assert_agrees(
        linear_shift.rotation_map(tables.frequencies(8), 3), "rotation_theorem_M_phi3_d8"
    )


@pytest.mark.slow
def test_it_is_that_of_the_encoding():
    encoding, p = Sinusoidal(width=16, rngs=nnx.Rngs(0)), jnp.arange(200)
    E, later = (np.asarray(encoding.embed(x[None])[0], np.float64) for x in (p, p + SHIFT))
    np.testing.assert_allclose(
        E @ linear_shift.rotation_map(tables.frequencies(), SHIFT).T, later, atol=2e-6
    )


def test_procrustes_finds_it_from_codes_alone():
    M = linear_shift.procrustes(tables.sinusoidal(FAR), tables.sinusoidal(FAR + SHIFT))
    np.testing.assert_allclose(
        M, linear_shift.rotation_map(tables.frequencies(), SHIFT).T, atol=1e-6
    )


@pytest.mark.parametrize("method", ["orthogonal", "linear", "affine"])
def test_sine_cosine_pairs_have_a_map_and_sines_alone_have_none(method):
    assert residual(tables.sinusoidal, method) < 1e-12
    assert residual(tables.multi_sine, method) > 0.1
    assert residual(tables.single_sine, method) > 0.4
    assert residual(tables.binary, method) > 0.3


def test_a_raw_index_needs_a_constant():
    assert residual(tables.raw_index, "affine") < 1e-20
    assert residual(tables.raw_index, "orthogonal") == pytest.approx(
        SHIFT**2 / tables.raw_index(FAR[512:]).var()
    )


def test_it_is_judged_on_pairs_that_it_was_not_fitted_on():
    noise = np.random.default_rng(0).standard_normal((40, 30))
    assert (
        linear_shift.residual(noise[:-1], noise[1:], 20, "linear") > 1
    )  # twenty pairs fit thirty channels exactly


@pytest.mark.parametrize("count", [1, 2, 3])
def test_too_few_pairs_judge_nothing(count):
    E = tables.raw_index(np.arange(count + 1))
    found = linear_shift.residual(E[:-1], E[1:], count // 2)
    assert (found is None) is (count < 3)
    assert linear_shift.residual(np.ones((9, 2)), np.ones((9, 2)), 4) is None
