import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.stick_breaking import StickBreaking
from tests import reference
from tests.encodings import codes
from tests.encodings.codes import attend
from tests.marks import full

SENSITIVE = {"remainder": (False, True), "attend_current": (False, True)}


def stick(num_heads=1, head_dim=4, **arguments):
    return StickBreaking(num_heads=num_heads, head_dim=head_dim, **arguments)


def equation(s, mask):
    """A row at a time, from the nearest key back, in float64."""
    w = np.zeros(s.shape)
    for place in np.ndindex(s.shape[:-1]):
        left = 1.0
        for j in reversed(range(s.shape[-1])):
            if mask[place][j]:
                z = float(s[place][j])
                w[place][j] = left / (1 + np.exp(-z))
                left /= 1 + np.exp(z)
    return w


@pytest.mark.slow
def test_agrees_with_reference():
    given, expected = (reference.entry("stickbreaking_L5_d4")[k] for k in ("inputs", "value"))
    q, k = (jnp.asarray(given[n]) for n in "qk")
    encoding, t = stick(), codes.tokens(range(5))
    weights = encoding.normalize((q @ k.T / 2)[None, None], encoding.mask(t, t))[0, 0]
    reference.assert_agrees(weights, "stickbreaking_L5_d4", expected["weights"])
    reference.assert_agrees(1 - weights.sum(axis=-1), "stickbreaking_L5_d4", expected["remainder"])


@pytest.mark.parametrize("attend_current", [False, True])
@pytest.mark.parametrize("seed", [0, full(1), full(2)])
def test_weights_are_shares_of_what_is_left_for_any_mask(seed, attend_current):
    """Padding, segments and heads of their own in the mask; queries are a few slots of the keys."""
    random = np.random.default_rng(seed)
    slots = np.sort(random.choice(9, 4, replace=False))
    Q, K = Tokens(jnp.asarray(slots)[None], jnp.asarray(slots)[None]), codes.tokens(range(9))
    s, given = 4 * random.normal(size=(2, 3, 4, 9)), random.random((2, 3, 4, 9)) < 0.7
    encoding = stick(attend_current=attend_current)
    mask = given & np.asarray(encoding.mask(Q, K))
    np.testing.assert_array_equal(
        np.asarray(encoding.mask(Q, K))[0, 0], np.arange(9) - slots[:, None] < attend_current
    )
    np.testing.assert_allclose(
        encoding.normalize(jnp.asarray(s, jnp.float32), jnp.asarray(mask)),
        equation(s, mask),
        atol=1e-6,
    )


def test_halves_worked_by_hand():
    """Logits of 0 give each key half of what is left, the nearest first."""
    encoding, t = stick(), codes.tokens(range(4))
    weights = encoding.normalize(jnp.zeros((1, 1, 4, 4)), encoding.mask(t, t))[0, 0]
    np.testing.assert_allclose(
        weights,
        [[0, 0, 0, 0], [1 / 2, 0, 0, 0], [1 / 4, 1 / 2, 0, 0], [1 / 8, 1 / 4, 1 / 2, 0]],
        rtol=1e-6,
    )


@pytest.mark.slow
def test_long_rows_stay_right_and_sum_to_one_at_most():
    """Many small shares, a logit that leaves e^-60 to earlier keys, and large logits everywhere."""
    random = np.random.default_rng(0)
    s = (random.normal(size=(1, 1, 3, 3000)) - 8).astype(np.float32)
    s[0, 0, 1, 2000] = 60.0
    s[0, 0, 2] = 50 * random.normal(size=3000)
    weights = np.asarray(stick().normalize(jnp.asarray(s), jnp.ones(s.shape, bool)))
    np.testing.assert_allclose(weights, equation(s, np.ones(s.shape, bool)), rtol=1e-4, atol=1e-37)
    assert weights.sum(axis=-1).max() <= 1 + 1e-5


@pytest.mark.slow
def test_gradients_are_finite_at_extremes_and_in_empty_rows():
    s = jnp.asarray(
        [[[[1e4, -1e4, 0.0, jnp.nan], [jnp.nan, jnp.inf, -jnp.inf, 0.0], [-1e4, -1e4, 1e4, 1e4]]]]
    )
    mask = jnp.asarray([[[[True, True, True, False], [False] * 4, [True] * 4]]])
    weights, grad = jax.value_and_grad(
        lambda s: (stick().normalize(s, mask) * jnp.arange(4.0)[None, None, None]).sum()
    )(s)
    assert np.isfinite(weights)
    assert np.isfinite(grad).all()


def attended(encoding, length=6):
    q, k, v = jax.random.normal(jax.random.key(0), (3, 2, length, 2, 4))
    t = codes.tokens(range(length))
    return np.asarray(
        attend(encoding, q, k, v, t, t, jnp.ones((1, 1, length, length), bool))
    ), np.asarray(v)


@pytest.mark.slow
def test_the_remainder_weighs_the_learned_vector():
    encoding, t = stick(2, remainder=True), codes.tokens(range(6))
    rest = np.arange(8.0).reshape(2, 4)
    encoding.rest[...] = jnp.asarray(rest)
    q, k, v = jax.random.normal(jax.random.key(0), (3, 2, 6, 2, 4))
    s = np.einsum("blhe,bshe->bhls", np.asarray(q, float), np.asarray(k, float)) / 2
    w = equation(s, np.broadcast_to(np.tril(np.ones((6, 6)), -1) > 0, s.shape))
    expected = np.einsum("bhls,bshe->blhe", w, v)
    expected += np.moveaxis(1 - w.sum(-1), 1, 2)[..., None] * rest
    np.testing.assert_allclose(attended(encoding)[0], expected, atol=1e-5)
    assert (
        encoding.combine(jnp.zeros((2, 2, 6, 6), jnp.bfloat16), v.astype(jnp.bfloat16), t, t).dtype
        == jnp.bfloat16
    )
