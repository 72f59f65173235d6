import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.transformer_xl import TransformerXL
from tests import reference
from tests.encodings import codes

SENSITIVE = {"base": (10000.0, 100.0)}
REFUSALS = [
    (dict(width=9), "must be even, got 9"),
]

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


@pytest.mark.slow
@codes.every_form
def test_far_positions_are_as_exact_as_near_ones(compute):
    e, (q, k) = encoding(), drawn(5)
    near, far = (
        logits(e, q, k, codes.tokens([p + shift for p in UNEVEN]), compute=compute)
        for shift in (0, 1_000_000)
    )
    np.testing.assert_allclose(far, near, atol=1e-4)
