import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab import kernels
from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.kernels.biases_cpu import add_bias
from pe_lab.model import attention
from pe_lab.model.attention import Attention
from pe_lab.model.streams import View
from pe_lab.model.terms import LayerEncoding, attention_terms, visible
from tests import models
from tests.encodings.codes import attend

KERNELS = {
    "reference": kernels.REFERENCE,
    "cpu": kernels.choose("auto", "cpu"),
    "cuda": kernels.choose("auto", "cuda"),
}
every_form = pytest.mark.parametrize("form", KERNELS.values(), ids=KERNELS)


def inputs(length=5):
    q, k, v = (
        np.asarray(jax.random.normal(jax.random.key(i), (2, length, 3, 4))) for i in range(3)
    )
    return q, k, v, Tokens(jnp.arange(length)[None], jnp.arange(length)[None])


@pytest.mark.slow
@every_form
def test_attend_is_the_equation_in_float64(form):
    q, k, v, t = inputs()
    mask = np.tril(np.ones((5, 5), bool))
    bias = np.asarray(jax.random.normal(jax.random.key(9), (1, 3, 5, 5)))
    s = np.einsum("blhe,bshe->bhls", q.astype(float), k.astype(float)) / 2 + bias
    w = np.where(mask, np.exp(s), 0)
    expected = np.einsum("bhls,bshe->blhe", w / w.sum(-1, keepdims=True), v.astype(float))
    out = attend(
        AttentionEncoding(),
        *map(jnp.asarray, (q, k, v)),
        t,
        t,
        jnp.asarray(mask)[None, None],
        bias=jnp.asarray(bias),
        kernels=form,
    )
    np.testing.assert_allclose(out, expected, atol=1e-5)


@pytest.mark.slow
@every_form
def test_a_query_without_keys_gets_zeros(form):
    q, k, v, t = inputs()
    mask = jnp.ones((1, 1, 5, 5), bool).at[:, :, 2].set(False)
    out = attend(AttentionEncoding(), *map(jnp.asarray, (q, k, v)), t, t, mask, kernels=form)
    assert (np.asarray(out[:, 2]) == 0).all()
    assert (np.abs(out[:, [0, 1, 3, 4]]).max(axis=(2, 3)) > 0).all()


@every_form
def test_wider_queries_and_keys_leave_values_and_scale_alone(form):
    class Widens(AttentionEncoding):
        def transform_qk(self, q, k, Q, K):
            return jnp.concatenate([q, q], -1), jnp.concatenate([k, k], -1)

    q, k, v, t = inputs()
    mask = jnp.ones((1, 1, 5, 5), bool)
    wider = attend(Widens(), *map(jnp.asarray, (q, k, v)), t, t, mask, kernels=form)
    np.testing.assert_allclose(
        wider,
        attend(AttentionEncoding(), jnp.asarray(2 * q), jnp.asarray(k), jnp.asarray(v), t, t, mask),
        atol=1e-5,
    )


@every_form
@pytest.mark.parametrize("factor", [1.0, (0.5, 1.0, 2.0)])
def test_a_temperature_scales_products_by_log_n_and_leaves_the_bias_alone(factor, form):
    q, k, v, t = inputs()
    mask = np.tril(np.ones((5, 5), bool))
    bias = np.asarray(jax.random.normal(jax.random.key(9), (1, 3, 5, 5)))
    log_n = (
        np.log(np.arange(1, 6))[:, None] * np.broadcast_to(factor, 3)[:, None, None]
    )  # [H, L, 1]: query i sees i + 1 keys
    s = log_n * np.einsum("blhe,bshe->bhls", q.astype(float), k.astype(float)) / 2 + bias
    w = np.where(mask, np.exp(s), 0)
    expected = np.einsum("bhls,bshe->blhe", w / w.sum(-1, keepdims=True), v.astype(float))
    given = factor if isinstance(factor, float) else jnp.asarray(factor)
    mask, bias = jnp.asarray(mask)[None, None], jnp.asarray(bias)
    out = attend(
        AttentionEncoding(),
        *map(jnp.asarray, (q, k, v)),
        t,
        t,
        mask,
        bias=bias,
        log_n_factor=given,
        kernels=form,
    )
    np.testing.assert_allclose(out, expected, atol=1e-5)


def test_a_temperature_counts_the_keys_that_an_encoding_leaves():
    class Neighbours(AttentionEncoding):
        def mask(self, Q, K):
            return (jnp.abs(Q.positions[:, :, None] - K.positions[:, None, :]) < 2)[:, None]

    q, k, v, t = inputs()
    everywhere, near = jnp.ones((1, 1, 5, 5), bool), Neighbours().mask(t, t)
    arrays = [jnp.asarray(x) for x in (q, k, v)]
    np.testing.assert_array_equal(
        attend(Neighbours(), *arrays, t, t, everywhere, log_n_factor=1.0),
        attend(AttentionEncoding(), *arrays, t, t, near, log_n_factor=1.0),
    )


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 1), (2, 3)])
def test_the_gradient_of_a_shared_bias_is_that_of_a_sum(shape):
    s, g = (jax.random.normal(jax.random.key(i), (2, 3, 4, 5)) for i in range(2))
    bias = jax.random.normal(jax.random.key(2), (*shape, 4, 5))
    ours, plain = (jax.vjp(f, s, bias) for f in (add_bias, lambda s, b: s + b))
    np.testing.assert_array_equal(ours[0], plain[0])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), ours[1](g), plain[1](g))


def view(slots=range(4), valid=None, segments=None, positions=None):
    """One row for each list of slots."""
    slots = jnp.asarray(slots).reshape(-1, np.shape(slots)[-1])
    valid = jnp.ones(slots.shape, bool) if valid is None else valid
    segments = None if segments is None else jnp.asarray([segments])
    positions = slots if positions is None else positions
    return View((positions[None],), valid, slots, valid.sum(axis=1), segments)


def seen(queries=None, keys=None, **sights):
    queries = view() if queries is None else queries
    mask = visible(queries, queries if keys is None else keys, **sights)
    return mask[0, 0].astype(int).tolist()


@pytest.mark.slow
def test_visible_is_causal_and_no_padding():
    padded = view(valid=jnp.asarray([[True, True, True, False]]))
    assert seen(padded, causal=True) == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    assert seen(padded, causal=False) == [*[[1, 1, 1, 0]] * 3, [0, 0, 0, 0]]


@pytest.mark.slow
def test_visible_is_of_one_segment():
    packed = view(segments=[1, 1, 2, 2])
    assert seen(packed, causal=True) == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    assert seen(packed, causal=False) == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]


def test_visible_is_inside_the_window():
    """So many tokens, the query included; without a causal mask to each side."""
    assert seen(causal=True, window=2) == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert seen(causal=False, window=2) == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    assert seen(causal=True, window=1) == np.eye(4, dtype=int).tolist()


def test_a_window_counts_slots_and_not_positions():
    apart = view(positions=jnp.asarray([[0, 10, 20, 30]]))
    assert seen(apart, causal=True, window=2) == seen(causal=True, window=2)


@pytest.mark.slow
def test_between_two_streams_segments_and_padding_decide():
    queries = view(segments=[1, 1, 2, 2])
    keys = view(range(3), valid=jnp.asarray([[True, True, False]]), segments=[1, 2, 2])
    assert seen(queries, keys, causal=False) == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]


@pytest.mark.slow
def test_queries_of_examples_stand_at_slots_of_their_own():
    """Decoding: one query of each example, at its own slot, against a cache of four."""
    filled = jnp.asarray([[True, True, False, False], [True, True, True, False]])
    cache = view([range(4)] * 2, valid=filled)
    mask = visible(view([[1], [2]]), cache, causal=True, window=2)
    assert mask[:, 0, 0].astype(int).tolist() == [[1, 1, 0, 0], [0, 1, 1, 0]]


def layer(**changes):
    return Attention(
        models.settings(width=8, **changes), kernels=kernels.REFERENCE, rngs=nnx.Rngs(params=0)
    )


@pytest.mark.slow
def test_no_heads_equal_no_encoding_and_all_heads_equal_the_encoding():
    """With some heads, each head equals one of the two cases.

    PoPE's wider products are summed in another order.
    """
    q, k, v, t = inputs()
    q, k, v = (jnp.asarray(x) for x in (q, k, v))
    mask = jnp.tril(jnp.ones((5, 5), bool))[None, None]
    for name in (
        "rope",
        "alibi",
        "shaw",
        "hard_alibi",
        "stick_breaking",
        "rotary_value",
        "cope",
        "pope",
    ):
        encoding = models.build(dict(name=name), width=12, num_heads=3).attention_encodings[0]

        def out(heads, encoding=encoding):
            terms = attention_terms([LayerEncoding(encoding, heads, t, t)], mask)
            return np.asarray(attention.attend(q, k, v, terms))

        alone, nothing = out(None), np.asarray(attend((), q, k, v, t, t, mask))
        np.testing.assert_array_equal(out(np.ones(3, bool)), alone)
        np.testing.assert_allclose(out(np.zeros(3, bool)), nothing, atol=0)
        some = out(np.asarray([False, True, False]))
        np.testing.assert_array_equal(some[:, :, 1], alone[:, :, 1])
        np.testing.assert_allclose(
            some[:, :, [0, 2]], nothing[:, :, [0, 2]], atol=1e-6 if name == "pope" else 0
        )


def test_ssmax_starts_from_the_papers_factor_for_each_head():
    np.testing.assert_allclose(layer(logit_temperature="ssmax").log_n_factor[...], [0.43, 0.43])
    assert layer(logit_temperature="log_n").log_n_factor is None
