import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.deberta import DeBERTa
from tests import reference
from tests.encodings import codes
from tests.marks import full

SENSITIVE = {"max_distance": (512, 5), "buckets": (None, 8), "terms": (("c2p", "p2c"), ("c2p",))}
REFUSALS = [
    (dict(max_distance=0), "at least 1, got 0"),
    (dict(max_distance=8, buckets=3), "even, 2 or more and fewer than max_distance=8, got 3"),
    (dict(max_distance=8, buckets=8), "fewer than max_distance=8, got 8"),
    (dict(max_distance=8, buckets=0), "2 or more and fewer than max_distance=8, got 0"),
    (dict(terms=()), "needs 'c2p', 'p2c' or both"),
    (dict(terms=("c2p", "c2p")), "each once"),
]

TERMS = pytest.mark.parametrize("terms", [("c2p",), ("p2c",), ("c2p", "p2c")], ids=str)


def encoding(max_distance=3, width=8, num_heads=2, bidirectional=True, **more):
    """With a table of unit size, so that it matters."""
    size = dict(width=width, num_heads=num_heads, head_dim=width // num_heads)
    made = DeBERTa(
        max_distance=max_distance, bidirectional=bidirectional, **size, **more, rngs=codes.rngs()
    )
    made.table[...] *= 50
    return made


def drawn(length, batch=1):
    return (jax.random.normal(jax.random.key(i), (batch, length, 2, 4)) for i in range(2))


def logits(e, q, k, Q, K=None, compute=codes.EQUATION):
    """What attention computes before the softmax."""
    K = Q if K is None else K
    scaled, met = e.transform_qk(q, k, Q, K)
    logits = jnp.einsum("blhe,bshe->bhls", scaled, met) / q.shape[-1] ** 0.5
    return np.asarray(logits + compute.hook(e, "content_bias")(q, k, Q, K))


def equation(e, q, k, at, to, bucket=lambda d: d):
    """One query and key at a time, in float64."""
    q, k, table = (np.asarray(a, np.float64) for a in (q, k, e.table[...]))
    projections = {t: np.asarray(p[...], np.float64) for t, p in e.projections.items()}
    side, out = len(table) // 2, np.zeros((2, len(at), len(to)))
    for h, i, j in np.ndindex(out.shape):
        row = table[min(max(bucket(at[i] - to[j]) + side, 0), 2 * side - 1)]
        logit = q[0, i, h] @ k[0, j, h]
        if "c2p" in e.terms:
            logit += q[0, i, h] @ (row @ projections["c2p"][:, h])
        if "p2c" in e.terms:
            logit += k[0, j, h] @ (row @ projections["p2c"][:, h])
        out[h, i, j] = logit / ((1 + len(e.terms)) * 4) ** 0.5
    return out


@pytest.mark.slow
@codes.every_form
def test_agrees_with_reference(compute):
    given, expected = (
        reference.entry("deberta_disentangled_L4_d4")[k] for k in ("inputs", "value")
    )
    e = encoding(given["att_span"], width=4, num_heads=1)
    e.table[...] = jnp.asarray(given["E"])
    e.projections["c2p"][...], e.projections["p2c"][...] = (
        jnp.asarray(given[n])[:, None] for n in ("Wk", "Wq")
    )
    q, k = (jnp.asarray(given[n])[None, :, None] for n in "qk")
    found = logits(e, q, k, compute.tokens(range(4)), compute=compute)[0, 0]
    reference.assert_agrees(found, "deberta_disentangled_L4_d4", expected["logits"])


@pytest.mark.slow
def test_logarithmic_buckets_agree_with_reference():
    given, expected = (
        reference.entry("deberta_v2_log_bucket_256_512")[k] for k in ("inputs", "value")
    )
    e = encoding(given["max_position"], buckets=given["bucket_size"])
    within = np.clip(expected, -256, 255)  # as the span of 256 clips them there
    np.testing.assert_array_equal(e.row(jnp.asarray(given["rel"])) - 256, within)
    assert len(e.table[...]) == 512


@pytest.mark.slow
def test_logarithmic_buckets_by_hand():
    """Distances to 2 are exact; 3 to 7 have bucket ceil(log(d / 2) / log(7 / 2)) + 2 = 3."""
    e = encoding(8, buckets=4)
    assert e.row(jnp.arange(-9, 10)).tolist() == [0, 0, *[1] * 5, 2, 3, 4, 5, 6, *[7] * 7]


@pytest.mark.slow
@TERMS
def test_equation_at_uneven_positions_of_two_streams(terms):
    e, at, to = encoding(terms=terms), [4, 0, 17], [2, 3, 15, 5, 0]
    (q, _), (_, k) = drawn(3), drawn(5)
    np.testing.assert_allclose(
        logits(e, q, k, codes.tokens(at), codes.tokens(to))[0], equation(e, q, k, at, to), atol=1e-5
    )


@codes.every_kernel
@TERMS
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("max_distance", [1, full(3), 6, full(20)])
def test_equation_at_an_arange_shorter_and_longer_than_the_table(
    terms, bidirectional, max_distance, compute
):
    e, (q, k) = encoding(max_distance, bidirectional=bidirectional, terms=terms), drawn(6)
    found = logits(e, q, k, compute.tokens(range(3, 9)), compute=compute)[0]
    expected = equation(e, q, k, range(6), range(6))
    seen = np.ones((6, 6), bool) if bidirectional else np.tril(np.ones((6, 6), bool))
    np.testing.assert_allclose(found[:, seen], expected[:, seen], atol=1e-5)


@pytest.mark.slow
@codes.every_kernel
def test_equation_between_two_aranges_of_different_lengths(compute):
    e = encoding()
    for queries, keys in ((3, 5), (5, 3)):
        (q, _), (_, k) = drawn(queries), drawn(keys)
        found = logits(
            e, q, k, compute.tokens(range(queries)), compute.tokens(range(keys)), compute
        )
        np.testing.assert_allclose(
            found[0], equation(e, q, k, range(queries), range(keys)), atol=1e-5
        )


@pytest.mark.slow
@codes.every_form
def test_equation_with_buckets(compute):
    e, (q, k), exact = encoding(8, buckets=4), drawn(11), {1: 1, 2: 2}
    found = logits(e, q, k, compute.tokens(range(11)), compute=compute)[0]

    def bucket(d):
        return int(np.sign(d)) * exact.get(abs(d), 3 if abs(d) < 8 else 4) if d else 0

    np.testing.assert_allclose(found, equation(e, q, k, range(11), range(11), bucket), atol=1e-5)


def test_distances_beyond_the_table_share_the_last_row():
    assert encoding(2).row(jnp.asarray([-9, -3, -2, -1, 0, 1, 2, 9])).tolist() == [
        0,
        0,
        0,
        1,
        2,
        3,
        3,
        3,
    ]
