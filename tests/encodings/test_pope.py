import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.pope import PoPE
from pe_lab.kernels import REFERENCE, choose
from tests import reference
from tests.encodings import codes
from tests.encodings.codes import attend

SENSITIVE = {"base": (10000.0, 100.0), "start": ("zero", "uniform")}


def built(delta=None, num_heads=1, head_dim=4, **arguments):
    encoding = PoPE(num_heads=num_heads, head_dim=head_dim, rngs=codes.rngs(), **arguments)
    if delta is not None:
        encoding.delta[...] = jnp.asarray(delta, jnp.float32)
    return encoding


def products(encoding, q, k, positions):
    """[H, L, S] of queries and keys [L, H, Dh], before 1 / sqrt(Dh)."""
    tokens = codes.tokens(positions)
    q, k = encoding.transform_qk(
        *(jnp.asarray(x, jnp.float32)[None] for x in (q, k)), tokens, tokens
    )
    assert q.shape[-1] == k.shape[-1] == 2 * len(encoding.frequencies)
    return np.asarray(jnp.einsum("lhe,she->hls", q[0], k[0]))


@pytest.mark.slow
def test_agrees_with_reference():
    given = reference.entry("pope_d4_L5_scores")["inputs"]
    q, k = (np.asarray(given[n])[:, None] for n in "qk")
    reference.assert_agrees(
        products(built([given["delta"]]), q, k, range(5))[0], "pope_d4_L5_scores"
    )


@pytest.mark.slow
@pytest.mark.parametrize("positions", [range(5), [0, 3, 9, 20, 63], [0, 1.5, 2.25, 60, 1e4]])
def test_equation_in_float64(positions):
    random = np.random.default_rng(0)
    q, k = random.normal(size=(2, 5, 2, 6))
    delta = -random.uniform(0, 2 * np.pi, (2, 6))
    expected = np.zeros((2, 5, 5))
    for h in range(2):
        for i, t in enumerate(positions):
            for j, s in enumerate(positions):
                for c in range(6):
                    lengths = np.log1p(np.exp(q[i, h, c])) * np.log1p(np.exp(k[j, h, c]))
                    expected[h, i, j] += lengths * np.cos((s - t) * 100.0 ** (-c / 6) + delta[h, c])
    found = products(built(delta, num_heads=2, head_dim=6, base=100.0), q, k, list(positions))
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.slow
def test_worked_by_hand():
    """All lengths of zeros are log 2; a delta of -pi / 2 gives the sine of the distance back."""
    found = products(
        built([[-np.pi / 2]], head_dim=1), np.zeros((3, 1, 1)), np.zeros((3, 1, 1)), [0, 1, 3]
    )[0]
    np.testing.assert_allclose(found[2], np.log(2) ** 2 * np.sin([-3.0, -2.0, 0.0]), atol=1e-6)


def test_it_starts_at_zero_or_uniformly_between_minus_a_turn_and_zero():
    assert np.asarray(built(num_heads=2).delta[...]).tolist() == [[0.0] * 4] * 2
    uniform = np.asarray(built(num_heads=100, head_dim=100, start="uniform").delta[...])
    assert -2 * np.pi <= uniform.min() < -2 * np.pi + 0.01
    assert -0.01 < uniform.max() <= 0
    assert uniform.mean() == pytest.approx(-np.pi, abs=0.1)


@pytest.mark.full
def test_delta_is_read_within_its_range_and_its_gradient_at_the_start_is_whole():
    x, tokens = np.zeros((1, 1, 2)), codes.tokens([0])

    def product(delta):
        encoding = built(head_dim=2)
        encoding.delta[...] = delta
        q, k = encoding.transform_qk(jnp.asarray(x)[None], jnp.asarray(x)[None], tokens, tokens)
        return (q * k).sum()

    inside = product(jnp.asarray([[-2 * np.pi, 0.0]], jnp.float32))
    assert float(product(jnp.asarray([[-9.0, 5.0]]))) == pytest.approx(float(inside), rel=1e-6)
    assert float(product(jnp.asarray([[-6.0, -0.3]]))) != pytest.approx(float(inside), rel=1e-3)

    def sine(delta):
        """Whose slope at 0 is 1: the key's second part."""
        encoding = built(head_dim=1)
        encoding.delta[...] = delta
        one = jnp.zeros((1, 1, 1, 1))
        return encoding.transform_qk(one, one, tokens, tokens)[1][0, 0, 0, 1] / np.log(2)

    for start, slope in ((0.0, 1.0), (0.5, 0.0), (-7.0, 0.0)):
        assert float(jax.grad(sine)(jnp.asarray([[start]]))[0, 0]) == pytest.approx(slope, abs=1e-6)


@pytest.mark.full
def test_logits_are_divided_by_the_root_of_the_head_width_and_not_of_twice_it():
    encoding, tokens = built(head_dim=4), codes.tokens([0, 5])
    x, v = jnp.full((1, 2, 1, 4), 0.7), jnp.asarray([[1.0, 0, 0, 0], [0, 1, 0, 0]])[None, :, None]
    turned = np.cos(5 * 10000.0 ** (-np.arange(4) / 4)).sum()
    s = np.log1p(np.exp(0.7)) ** 2 * np.array([[4, turned], [turned, 4]]) / 4**0.5
    weights = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
    for form in (REFERENCE, choose("auto", "cpu"), choose("auto", "cuda")):
        out = attend(encoding, x, x, v, tokens, tokens, jnp.ones((1, 1, 2, 2), bool), kernels=form)
        np.testing.assert_allclose(out[0, :, 0, :2], weights, atol=1e-6)
