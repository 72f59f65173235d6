import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.cope import CoPE
from pe_lab.encodings.rope import RoPE
from pe_lab.kernels.encodings import cope as fast
from tests import reference
from tests.encodings import codes
from tests.encodings.codes import attend

SENSITIVE = {"num_positions": (64, 2), "scaled": (False, True)}
REFUSALS = [
    (dict(num_positions=1), "two positions or more, got 1"),
]

LENGTH, HEAD_DIM = 7, 4
CAUSAL = jnp.tril(jnp.ones((1, 1, LENGTH, LENGTH), bool))


def encoding(num_positions=3, **more):
    """With vectors away from their start, 0."""
    made = CoPE(num_positions=num_positions, head_dim=HEAD_DIM, **more)
    made.table[...] = jax.random.normal(jax.random.key(5), made.table[...].shape)
    return made


def drawn(length=LENGTH, batch=2, num_heads=3):
    return (
        jax.random.normal(jax.random.key(i), (batch, length, num_heads, HEAD_DIM)) for i in range(3)
    )


def plain(q, k):
    return jnp.einsum("blhe,bshe->bhls", q, k) / HEAD_DIM**0.5


def added(e, s, q, mask=CAUSAL):
    t = codes.tokens(range(s.shape[-1]))
    return e.transform_logits(s, q, q, t, t, mask) - s


def equation(table, s, q, mask, scale=1.0):
    """What is added, by query and key, in float64."""
    table, s, q, last = (*(np.asarray(a, np.float64) for a in (table, s, q)), len(table) - 1)
    mask, out = np.broadcast_to(mask, s.shape), np.zeros(s.shape)
    for b, h, i, j in np.ndindex(s.shape):
        count = sum(
            1 / (1 + np.exp(-s[b, h, i, t])) for t in range(j, s.shape[-1]) if mask[b, h, i, t]
        )
        p = min(count, last)
        row, t = int(np.floor(p)), p - np.floor(p)
        out[b, h, i, j] = (
            scale * q[b, i, h] @ ((1 - t) * table[row] + t * table[min(row + 1, last)])
        )
    return out


@pytest.mark.parametrize(("scaled", "values"), [(False, "cope_unscaled"), (True, "cope_scaled")])
def test_agrees_with_reference(scaled, values):
    given, expected = (reference.entry("cope_npos4_L5_d4")[k] for k in ("inputs", "value"))
    e, mask = CoPE(num_positions=given["npos"], scaled=scaled, head_dim=4), CAUSAL[:, :, :5, :5]
    e.table[...] = jnp.asarray(given["pos_emb"])
    q, k = (jnp.asarray(given[n])[None, :, None] for n in "qk")
    reference.assert_agrees(
        e.counts(plain(q, k), mask)[0, 0], "cope_npos4_L5_d4", expected["positions"]
    )
    reference.assert_agrees(
        added(e, plain(q, k), q, mask)[0, 0], "cope_npos4_L5_d4", expected[values]
    )


@pytest.mark.slow
@pytest.mark.parametrize("scaled", [False, True])
def test_equation(scaled):
    """A key that no query may see, such as one of another segment, is not counted."""
    e, (q, k, _) = encoding(scaled=scaled), drawn()
    mask = jnp.broadcast_to(CAUSAL, (2, 1, LENGTH, LENGTH)).at[1, :, :, 2].set(False)
    s = 2 * plain(q, k)
    expected = equation(e.table[...], s, q, mask, HEAD_DIM**-0.5 if scaled else 1.0)
    np.testing.assert_allclose(added(e, s, q, mask), expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "length", [LENGTH, 50]
)  # 50: rows that fill several chunks of the backward pass, and a rest
def test_gradients_are_those_of_the_equation(length):
    table, (q, k, c) = encoding(num_positions=6).table[...], drawn(length)
    mask, c = jnp.tril(jnp.ones((1, 1, length, length), bool)), plain(c, c)

    def direct(table, q, k):
        s = plain(q, k)
        p = jnp.minimum(
            jnp.flip(jnp.cumsum(jnp.flip(jnp.where(mask, jax.nn.sigmoid(s), 0), -1), -1), -1), 5.0
        )
        weights = jnp.maximum(1 - jnp.abs(p[..., None] - jnp.arange(6.0).reshape(1, 1, 1, 1, 6)), 0)
        return jnp.where(mask, s + jnp.einsum("blhe,pe,bhlsp->bhls", q, table, weights), 0)

    def hook(table, q, k):
        e, s = encoding(num_positions=6), plain(q, k)
        e.table[...] = table
        return jnp.where(mask, s + added(e, s, q, mask), 0)

    found, expected = (
        jax.jit(jax.grad(lambda *a, f=f: (f(*a) * c).sum(), (0, 1, 2)))(table, q, k)
        for f in (hook, direct)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5 * np.abs(other).max())


@pytest.mark.slow
def test_gradients_of_the_interpolation_by_differences():
    z, at = jnp.asarray([[[[0.0, 3.0, -1.0]]]]), jnp.asarray([[[[0.25, 1.5, 2.0]]]])
    value, back = jax.vjp(fast._interpolate, z, at)
    np.testing.assert_allclose(value[0, 0, 0], [0.75, 1.0, -1.0])
    of_z, of_place = back(jnp.asarray([[[[1.0, 10.0, 100.0]]]]))
    np.testing.assert_allclose(of_z[0, 0, 0], [0.75, 0.25 + 5, 5 + 100])
    np.testing.assert_allclose(of_place[0, 0, 0], [3.0, -40.0, 0.0])


def test_counts_worked_by_hand():
    """Gates of a half, at logits of 0; the last row has place 2."""
    found = encoding().counts(jnp.zeros((1, 1, 5, 5)), CAUSAL[:, :, :5, :5])[0, 0]
    expected = [
        [0.5, 0, 0, 0, 0],
        [1, 0.5, 0, 0, 0],
        [1.5, 1, 0.5, 0, 0],
        [2, 1.5, 1, 0.5, 0],
        [2, 2, 1.5, 1, 0.5],
    ]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_it_starts_as_nothing():
    q, k, v = drawn()
    t = codes.tokens(range(LENGTH))
    bare = attend((), q, k, v, t, t, CAUSAL)
    np.testing.assert_array_equal(attend(CoPE(head_dim=HEAD_DIM), q, k, v, t, t, CAUSAL), bare)


@pytest.mark.slow
def test_in_a_chain_gates_read_what_came_before():
    e, (q, k, v), t = encoding(), drawn(), codes.tokens(range(0, 3 * LENGTH, 3))
    rope = RoPE(head_dim=HEAD_DIM)
    turned = plain(*rope.transform_qk(q, k, t, t))
    logits = turned + equation(e.table[...], turned, q, CAUSAL)
    w = np.where(CAUSAL, np.exp(logits), 0)
    expected = np.einsum("bhls,bshe->blhe", w / w.sum(-1, keepdims=True), v)
    np.testing.assert_allclose(attend((rope, e), q, k, v, t, t, CAUSAL), expected, atol=1e-5)
