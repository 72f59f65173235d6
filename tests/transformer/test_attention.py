import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.transformer.attention import Attention, attend, visible


def inputs(length=5):
    q, k, v = (np.asarray(jax.random.normal(jax.random.key(i), (2, length, 3, 4))) for i in range(3))
    return q, k, v, Tokens(jnp.arange(length)[None], jnp.arange(length))


@pytest.mark.parametrize("fused", [False, True])
def test_attend_is_the_equation_in_float64(fused):
    q, k, v, t = inputs()
    mask = np.tril(np.ones((5, 5), bool))
    bias = np.asarray(jax.random.normal(jax.random.key(9), (1, 3, 5, 5)))
    s = np.einsum("blhe,bshe->bhls", q.astype(float), k.astype(float)) / 2 + bias
    w = np.where(mask, np.exp(s), 0)
    expected = np.einsum("bhls,bshe->blhe", w / w.sum(-1, keepdims=True), v.astype(float))
    out = attend(
        AttentionEncoding(), *map(jnp.asarray, (q, k, v)), t, t, jnp.asarray(mask)[None, None], bias=jnp.asarray(bias), fused=fused
    )
    np.testing.assert_allclose(out, expected, atol=1e-5)


@pytest.mark.parametrize("fused", [False, True])
def test_a_query_without_keys_gets_zeros(fused):
    q, k, v, t = inputs()
    mask = jnp.ones((1, 1, 5, 5), bool).at[:, :, 2].set(False)
    out = attend(AttentionEncoding(), *map(jnp.asarray, (q, k, v)), t, t, mask, fused=fused)
    assert (np.asarray(out[:, 2]) == 0).all()
    assert (np.abs(out[:, [0, 1, 3, 4]]).max(axis=(2, 3)) > 0).all()


def test_wider_queries_and_keys_leave_values_and_scale_alone():
    class Widens(AttentionEncoding):
        def qk(self, q, k, Q, K):
            return jnp.concatenate([q, q], -1), jnp.concatenate([k, k], -1)

    q, k, v, t = inputs()
    mask = jnp.ones((1, 1, 5, 5), bool)
    explicit, fused = (attend(Widens(), *map(jnp.asarray, (q, k, v)), t, t, mask, fused=f) for f in (False, True))
    np.testing.assert_allclose(explicit, fused, atol=1e-6)
    np.testing.assert_allclose(
        explicit, attend(AttentionEncoding(), jnp.asarray(2 * q), jnp.asarray(k), jnp.asarray(v), t, t, mask), atol=1e-5
    )


def test_visible_is_causal_valid_and_of_one_segment():
    valid, segments = jnp.asarray([[True, True, True, False]]), jnp.asarray([[1, 1, 2, 2]])
    t = Tokens(jnp.arange(4)[None], jnp.arange(4))
    assert visible(t, valid, None, causal=True)[0, 0].astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]
    assert visible(t, valid, segments, causal=True)[0, 0].astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]
    assert visible(t, valid, None, causal=False)[0, 0, 0].astype(int).tolist() == [1, 1, 1, 0]


def test_nan_in_padding_stays_there():
    layer = Attention(8, 2, rngs=nnx.Rngs(params=0))
    x = jax.random.normal(jax.random.key(0), (1, 4, 8)).at[:, 3].set(jnp.nan)
    t, valid = Tokens(jnp.arange(4)[None], jnp.arange(4)), jnp.asarray([[True, True, True, False]])
    out = layer(x, t, AttentionEncoding(), valid, visible(t, valid, None, causal=False))
    assert np.isfinite(out).all()
