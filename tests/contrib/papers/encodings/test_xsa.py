import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.encodings.xsa import XSA
from pe_lab.encodings.base import Tokens
from tests import models
from tests.encodings import codes

# In one layer the order of earlier keys has no effect.
NEEDS_TWO_LAYERS = True
SENSITIVE = {"learned": (False, True)}


def combined(encoding, w, v, slots):
    """[L, H, Dh] of weights [H, L, S] and values [S, H, Dh]."""
    Q = Tokens(jnp.asarray(slots)[None], jnp.asarray(slots)[None])
    w, v = (jnp.asarray(each, jnp.float32)[None] for each in (w, v))
    return np.asarray(encoding.combine(w, v, Q, codes.tokens(range(v.shape[1])))[0])


@pytest.mark.slow
@pytest.mark.parametrize("strength", [None, [0.3, -2.0]])
def test_the_component_along_the_own_value_is_removed(strength):
    """Queries are three slots of five keys, as in a cache; in float64."""
    random = np.random.default_rng(0)
    w, v, slots = random.uniform(size=(2, 3, 5)), random.normal(size=(5, 2, 8)), [4, 0, 2]
    encoding = XSA(num_heads=2, learned=strength is not None)
    if strength is not None:
        encoding.strength[...] = jnp.asarray(strength)
    expected = np.einsum("hls,she->lhe", w, v)
    for i, slot in enumerate(slots):
        for head in range(2):
            unit = v[slot, head] / np.linalg.norm(v[slot, head])
            fraction = 1.0 if strength is None else np.tanh(strength[head])
            expected[i, head] -= fraction * (expected[i, head] @ unit) * unit
    np.testing.assert_allclose(combined(encoding, w, v, slots), expected, atol=1e-6)


@pytest.mark.slow
def test_worked_by_hand():
    """The own value is (3, 4) and the sum (1, 2): (1, 2) - 11 / 25 * (3, 4)."""
    w = np.array([[[0.0, 1.0]]])
    v = np.array([[[3.0, 4.0]], [[1.0, 2.0]]])
    output = combined(XSA(num_heads=1), w, v, [0])
    np.testing.assert_allclose(output[0, 0], [-0.32, 0.24], atol=1e-6)


def test_a_token_that_sees_itself_alone_has_no_output():
    v = np.random.default_rng(1).normal(size=(2, 3, 4))
    output = combined(XSA(num_heads=3), np.tile(np.eye(2), (3, 1, 1)), v, [0, 1])
    np.testing.assert_allclose(output, 0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("norm", "lost"), [(1e-5, 1.0), (1e-6, 1.0), (1e-7, 0.01)])
def test_along_a_value_with_a_norm_below_the_declared_one_less_is_lost(norm, lost):
    w, v = np.array([[[0.0, 1.0]]]), np.array([[[norm, 0.0]], [[1.0, 2.0]]])
    output = combined(XSA(num_heads=1), w, v, [0])
    np.testing.assert_allclose(output[0, 0], [1 - lost, 2], atol=1e-6)
    words = " ".join(inspect.getmodule(XSA).__doc__.split())
    assert "here below a norm of 1e-6; below 1e-12 in pull request 265" in words


@pytest.mark.slow
def test_values_of_zero_have_finite_derivatives():
    def total(v):
        tokens = codes.tokens(range(2))
        return XSA(num_heads=1).combine(jnp.ones((1, 1, 2, 2)), v, tokens, tokens).sum()

    assert np.isfinite(jax.grad(total)(jnp.zeros((1, 2, 1, 4)))).all()


@pytest.mark.slow
def test_a_learned_strength_starts_as_the_model_without_it():
    stream = models.stream(models.random_tokens(2, 7))
    plain, full, learned = (
        models.run(models.build("rope", *more, num_layers=1), stream)
        for more in ((), ("xsa",), (dict(name="xsa", learned=True),))
    )
    models.assert_close(learned, plain)
    models.assert_differs(full, plain, 1e-4)


def test_queries_without_slots_are_refused():
    tokens = Tokens(jnp.arange(2)[None])
    with pytest.raises(ValueError, match="XSA reads the slots of queries"):
        XSA(num_heads=1).combine(jnp.ones((1, 1, 2, 2)), jnp.ones((1, 2, 1, 4)), tokens, tokens)
