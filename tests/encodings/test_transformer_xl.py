import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.transformer_xl import TransformerXL
from tests import reference
from tests.encodings import codes
from tests.encodings.codes import attend

SENSITIVE = {"base": (10000.0, 100.0)}

UNEVEN = [0, 1, 3, 9, 20]
BOTH_SIDES = pytest.mark.parametrize("bidirectional", [False, True])


def encoding(width=8, num_heads=2, bidirectional=True):
    """With biases of the size of a query, so that they matter."""
    made = TransformerXL(
        width=width,
        num_heads=num_heads,
        head_dim=width // num_heads,
        bidirectional=bidirectional,
        rngs=codes.rngs(),
    )
    made.query_bias[...] *= 50
    made.position_bias[...] *= 50
    return made


def drawn(length, num_heads=2, head_dim=4, batch=1):
    return (
        jax.random.normal(jax.random.key(i), (batch, length, num_heads, head_dim)) for i in range(2)
    )


def logits(e, q, k, Q, K=None, compute=codes.EQUATION):
    """What attention computes before the softmax."""
    K = Q if K is None else K
    turned, met = e.transform_qk(q, k, Q, K)
    s = jnp.einsum("blhe,bshe->bhls", turned, met) / q.shape[-1] ** 0.5
    return np.asarray(s + compute.hook(e, "content_bias")(q, k, Q, K))


def apart(at, to):
    """i - j, query minus key."""
    return np.subtract.outer(list(at), list(to))


def equation(e, q, k, distances):
    """One query, one key and one head at a time, in float64."""
    q, k, u, v, projection = (
        np.asarray(a, np.float64)
        for a in (q, k, e.query_bias[...], e.position_bias[...], e.projection[...])
    )
    width, heads, head_dim = projection.shape
    out = np.zeros((heads, *distances.shape))
    for h, i, j in np.ndindex(out.shape):
        phases = [distances[i, j] / 10000 ** (2 * m / width) for m in range(width // 2)]
        code = [*map(np.sin, phases), *map(np.cos, phases)]
        r = sum(code[d] * projection[d, h] for d in range(width))
        out[h, i, j] = ((q[0, i, h] + u[h]) @ k[0, j, h] + (q[0, i, h] + v[h]) @ r) / head_dim**0.5
    return out


@pytest.mark.slow
@codes.every_form
def test_agrees_with_reference(compute):
    given, expected = (reference.entry("xl_logits_d4_L4")[k] for k in ("inputs", "value"))
    e = TransformerXL(width=4, num_heads=1, head_dim=4, bidirectional=True, rngs=codes.rngs())
    e.query_bias[...], e.position_bias[...] = jnp.asarray(given["u"]), jnp.asarray(given["v"])
    e.projection[...] = jnp.asarray(given["W_r"])[:, None]
    q, k = (jnp.asarray(given[n]).reshape(1, 4, 1, 4) for n in "qk")
    found = logits(e, q, k, compute.tokens(range(4)), compute=compute)[0, 0]
    reference.assert_agrees(
        2 * found, "xl_logits_d4_L4", expected["distance_i_minus_j"]
    )  # the entry leaves out 1 / sqrt(4)


@pytest.mark.slow
@codes.every_form
def test_equation_at_uneven_positions_of_two_streams(compute):
    """The kernels take a difference of angles there."""
    e, at, to = encoding(), [4, 0, 17], [2, 3, 1000, 5, 0]
    (q, _), (_, k) = drawn(3), drawn(5)
    found = logits(e, q, k, codes.tokens(at), codes.tokens(to), compute)[0]
    np.testing.assert_allclose(found, equation(e, q, k, apart(at, to)), atol=1e-5)


@codes.every_kernel
@BOTH_SIDES
def test_equation_at_an_arange(bidirectional, compute):
    e, (q, k) = encoding(bidirectional=bidirectional), drawn(6)
    found = logits(e, q, k, compute.tokens(range(3, 9)), compute=compute)[0]
    expected = equation(e, q, k, apart(range(6), range(6)))
    seen = np.ones((6, 6), bool) if bidirectional else np.tril(np.ones((6, 6), bool))
    np.testing.assert_allclose(found[:, seen], expected[:, seen], atol=1e-5)


@pytest.mark.slow
@codes.every_kernel
def test_equation_between_two_aranges_of_different_lengths(compute):
    e = encoding()
    (q, _), (_, k) = drawn(3), drawn(5)
    found = logits(e, q, k, compute.tokens(range(3)), compute.tokens(range(5)), compute=compute)
    np.testing.assert_allclose(found[0], equation(e, q, k, apart(range(3), range(5))), atol=1e-5)


@pytest.mark.full
@codes.every_form
def test_a_row_of_positions_for_each_example(compute):
    e, (q, k) = encoding(), drawn(3, batch=2)
    rows = ([0, 1, 5], [2, 7, 8])
    t = codes.tokens(rows[0])
    both = t.__class__(jnp.asarray(rows), jnp.broadcast_to(t.slots, (2, 3)))
    for i, row in enumerate(rows):
        alone = logits(e, q[i : i + 1], k[i : i + 1], codes.tokens(row), compute=compute)[0]
        np.testing.assert_allclose(logits(e, q, k, both, compute=compute)[i], alone, atol=1e-6)


@pytest.mark.full
@codes.every_kernel
@BOTH_SIDES
def test_a_distance_has_one_code_whatever_the_length(bidirectional, compute):
    (q, k), e = drawn(7), encoding(bidirectional=bidirectional)
    whole = logits(e, q, k, compute.tokens(range(7)), compute=compute)[0]
    for length in (1, 2, 4):
        part = logits(
            e, q[:, :length], k[:, :length], compute.tokens(range(length)), compute=compute
        )[0]
        seen = np.tril(np.ones((length, length), bool))
        np.testing.assert_allclose(part[:, seen], whole[:, :length, :length][:, seen], atol=1e-5)


@pytest.mark.slow
@codes.every_form
def test_the_order_of_distances_is_not_a_known_wrong_one(compute):
    """A peer's causal form reads its table backwards.

    There (i, j) has the code of T - 1 - (i - j), which depends on the length T.
    """
    used = reference.entry("xl_deepmind_causal_divergence")["value"]["index_used"]
    wrong = np.asarray([[np.nan if n is None else n for n in row] for row in used])
    e, (q, k) = encoding(bidirectional=False), drawn(4)
    found, others = (
        logits(e, q, k, compute.tokens(range(4)), compute=compute)[0],
        equation(e, q, k, wrong),
    )
    misread = np.tril(wrong != apart(range(4), range(4)))
    assert misread.sum() == 10
    assert np.abs(found - others)[:, misread].min() > 1e-3


@pytest.mark.slow
@codes.every_form
def test_self_and_future_and_past_have_codes_of_their_own(compute):
    """All queries and keys are one vector, so that logits show the distance alone.

    A peer clamps its indices, so that all d <= 0 share one code.
    """
    q, k = (jnp.broadcast_to(a[:, :1], a.shape) for a in drawn(5))
    found = logits(encoding(), q, k, compute.tokens(range(5)), compute=compute)[0]
    for head in found:
        of_distance = np.asarray([head[i, 0] if i >= 0 else head[0, -i] for i in range(-4, 5)])
        assert (np.abs(apart(of_distance, of_distance)) + np.eye(9)).min() > 1e-3
        np.testing.assert_allclose(
            [head[1, 1], head[4, 3], head[2, 3]], of_distance[[4, 5, 3]], atol=1e-5
        )


@pytest.mark.slow
def test_the_biases_act_without_a_query():
    """q = 0: what is left is u·k and v·r, a logit of the key and one of the distance."""
    e, (q, k) = encoding(), drawn(5)
    found = logits(e, 0 * q, k, codes.tokens(UNEVEN))[0]
    np.testing.assert_allclose(found, equation(e, 0 * q, k, apart(UNEVEN, UNEVEN)), atol=1e-5)
    assert np.abs(found).min(axis=(1, 2)).max() > 0


@pytest.mark.slow
@codes.every_form
def test_far_positions_are_as_exact_as_near_ones(compute):
    e, (q, k) = encoding(), drawn(5)
    near, far = (
        logits(e, q, k, codes.tokens([p + shift for p in UNEVEN]), compute=compute)
        for shift in (0, 1_000_000)
    )
    np.testing.assert_allclose(far, near, atol=1e-4)


@pytest.mark.slow
def test_half_precision_queries_stay_so_and_logits_are_float32():
    e, (q, k) = encoding(), (a.astype(jnp.bfloat16) for a in drawn(5))
    t = codes.tokens(UNEVEN)
    assert {a.dtype for a in e.transform_qk(q, k, t, t)} == {jnp.dtype(jnp.bfloat16)}
    v = jnp.ones_like(k)
    assert attend(e, q, k, v, t, t, jnp.ones((1, 1, 5, 5), bool)).dtype == jnp.bfloat16
    assert e.content_bias(q, k, t, t).dtype == jnp.float32


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match="must be even, got 9"):
        TransformerXL(width=9, num_heads=3, head_dim=3, rngs=codes.rngs())
