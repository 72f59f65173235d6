import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.xpos import XPos
from tests import models, reference
from tests.encodings import codes
from tests.marks import full

SENSITIVE = {"base": (10000.0, 100.0), "gamma": (0.4, 0.05), "scale_base": (512.0, 64.0)}
REFUSALS = [
    (dict(head_dim=3), "XPos rotates pairs, so the head width must be even, got 3"),
    (dict(gamma=0.0), "XPos's gamma must be above 0 .*, got"),
    (dict(scale_base=-1.0), "XPos's scale_base must be above 0 .*, got"),
    (dict(scale_base=0.01), r"scale_base 0\.01 with gamma 0\.4 decays by more than e\^64"),
]
REACH = 26_156  # whole positions: 64 * 512 / log(3.5) = 26,156.6


def scores(q, k, positions, **arguments):
    """[L, L] products of one head, before 1 / sqrt(Dh)."""
    tokens = codes.tokens(positions)
    encoding = XPos(head_dim=np.shape(q)[-1], **arguments)
    q, k = encoding.transform_qk(
        *(jnp.asarray(x, jnp.float32)[None, :, None] for x in (q, k)), tokens, tokens
    )
    return np.asarray(q[0, :, 0] @ k[0, :, 0].T)


def equation(q, k, positions, base=10000.0, gamma=0.4, scale_base=512.0):
    """Pair by pair in float64; pairs of tokens where the key is ahead are left 0."""
    width, found = np.shape(q)[-1], np.zeros((len(q), len(k)))
    for i, m in enumerate(positions):
        for j, n in enumerate(positions[: i + 1]):
            for pair in range(width // 2):
                zeta = (2 * pair / width + gamma) / (1 + gamma)
                turned = complex(*q[i][2 * pair : 2 * pair + 2]) * np.conj(
                    complex(*k[j][2 * pair : 2 * pair + 2])
                )
                turned *= np.exp(1j * (m - n) * base ** (-2 * pair / width))
                found[i, j] += turned.real * zeta ** ((m - n) / scale_base)
    return found


def random(length, width=8, seed=0):
    return np.random.default_rng(seed).normal(size=(2, length, width))


@pytest.mark.slow
def test_agrees_with_reference():
    given, expected = (reference.entry("xpos_d8_L6_scores")[part] for part in ("inputs", "value"))
    reference.assert_agrees(
        scores(given["q"], given["k"], range(6)), "xpos_d8_L6_scores", expected["scores"]
    )
    np.testing.assert_allclose(
        np.exp(-512 * np.asarray(XPos(head_dim=8).decay)), expected["zeta"], rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [{}, dict(base=50.0, gamma=0.1, scale_base=32.0)])
@pytest.mark.parametrize(
    "positions", [range(7), [0, 1, 3, 9, 20, 40, 63], [5, 200, 201, 399, 700, 701, 800]]
)
def test_equation_in_float64(positions, arguments):
    q, k = random(7)
    causal = np.tri(7, dtype=bool)
    np.testing.assert_allclose(
        np.where(causal, scores(q, k, positions, **arguments), 0),
        equation(q, k, list(positions), **arguments),
        atol=2e-5,
    )


@pytest.mark.slow
@pytest.mark.parametrize("start", [full(0), 1_000_000])
def test_it_holds_as_far_as_it_says_wherever_that_is(start):
    """To 1e-5 of |q||k|, the exponent of e^64 being float32 itself."""
    q, k = random(6)
    positions = [start + p for p in (0, 1, 600, 13_000, REACH - 1, REACH)]
    expected = equation(q, k, [p - start for p in positions])
    np.testing.assert_allclose(np.tril(scores(q, k, positions)), expected, atol=1e-5 * 16)


@pytest.mark.full
def test_a_query_further_back_is_nan_and_those_within_reach_are_not():
    q, k = random(4)
    found = scores(q, k, [0, 1, 100, REACH + 1])
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(
        np.tril(found)[1:], equation(q, k, [0, 1, 100, REACH + 1])[1:], atol=1e-4
    )


@pytest.mark.slow
def test_worked_by_hand():
    """512 positions apart, two channels fade by 0.4 / 1.4, whatever the angle of 512 radians."""
    found = scores([[1.0, 0.0]] * 2, [[1.0, 0.0]] * 2, [88, 600])
    np.testing.assert_allclose(found.diagonal(), 1.0, rtol=1e-6)
    assert found[1, 0] == pytest.approx(np.cos(512) * 0.4 / 1.4, rel=1e-5)


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.05)])
def test_padding_far_behind_leaves_logits_alone_and_gradients_finite(dtype, tolerance):
    """Two tokens of padding at position 0, out of reach of the largest position."""
    model = models.build("xpos", num_layers=1, compute_dtype=dtype)
    tokens, mask = models.random_tokens(1, 5), jnp.arange(5)[None] < 3
    positions = jnp.asarray([[[10**6, 10**6 + 5, 10**6 + 6, 0, 0]]])
    padded = models.run(model, models.stream(tokens, positions, mask))[:, :3]
    alone = models.run(model, models.stream(tokens[:, :3], positions[..., :3]))
    np.testing.assert_allclose(padded, alone, atol=tolerance)
    graph, params = nnx.split(model)

    def loss(params):
        return nnx.merge(graph, params)({"decoder": models.stream(tokens, positions, mask)})[
            :, :3
        ].sum()

    assert all(np.isfinite(g).all() for g in jax.tree.leaves(jax.grad(loss)(params)))


@pytest.mark.slow
def test_empty_slots_beyond_the_reach_change_no_score():
    """A cache of more slots than the reach: its first queries are as in a full forward pass."""
    q, k = (jnp.asarray(x, jnp.float32)[None, :, None] for x in random(3))
    positions = [0, 4, 9, REACH, 10**6, 2 * 10**6]
    whole = codes.tokens(positions)
    keys = jnp.pad(k, ((0, 0), (0, 3), (0, 0), (0, 0)))
    encoding = XPos(head_dim=8)
    now = codes.tokens(positions[:3])
    expected = np.asarray(jnp.einsum("blhe,bshe->ls", *encoding.transform_qk(q, k, now, now)))
    for slot, position in enumerate(positions[:3]):
        query = Tokens(jnp.asarray([[position]]), jnp.asarray([[slot]]))
        a, b = encoding.transform_qk(q[:, slot : slot + 1], keys, query, whole)
        assert np.isfinite(b).all()
        found = np.asarray(jnp.einsum("blhe,bshe->ls", a, b))[0]
        np.testing.assert_allclose(found[: slot + 1], expected[slot, : slot + 1], atol=1e-5)
