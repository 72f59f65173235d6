import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.base import Tokens
from pe_lab.encodings.selective_rope import SelectiveRoPE
from tests import reference
from tests.encodings import codes
from tests.marks import full

SENSITIVE = {
    "rank": (16, 2),
    "base": (500000.0, 10.0),
    "temperature": (1.0, 0.3),
    "gate": (False, True),
    "convolution": (0, 3),
}
REFUSALS = [
    (dict(head_dim=3), "SelectiveRoPE rotates pairs, so the head width must be even, got 3"),
    (dict(rank=0), "rank must be at least 1, got 0"),
    (dict(convolution=-1), "convolution must be at least 0, got -1"),
]


def build(head_dim=8, **arguments):
    return SelectiveRoPE(width=16, num_heads=2, head_dim=head_dim, rngs=codes.rngs(), **arguments)


def turned(encoding, x, steps, slots=None):
    """Queries in given slots and keys, both x, by the hook."""
    K = dataclasses.replace(
        codes.tokens(range(x.shape[1])), features=(jnp.asarray(steps, jnp.float32), None)
    )
    Q = K if slots is None else Tokens(jnp.asarray(slots), jnp.asarray(slots))
    x = jnp.asarray(x, jnp.float32)
    queries = x
    if slots is not None:
        queries = jnp.take_along_axis(x, jnp.asarray(slots)[..., None, None], axis=1)
    return encoding.transform_qk(queries, x, Q, K)


def equation(x, steps, factors):
    """Each pair as a complex number, turned by the sum of steps up to its token, in float64."""
    half = x.shape[-1] // 2
    z = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * np.cumsum(steps, axis=1) * factors)
    return np.concatenate([z.real, z.imag], axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [full(0), 1, full(2)])
def test_pairs_turn_by_the_sum_of_steps(seed):
    """Also where queries are a few slots of the keys; padding has the slot of the last token."""
    random = np.random.default_rng(seed)
    x, steps = random.normal(size=(2, 9, 2, 8)), random.normal(size=(2, 9, 2, 4))
    factors = 500000.0 ** (-np.arange(4) / 4)
    expected = equation(x, steps, factors)
    for y in turned(build(), x, steps):
        np.testing.assert_allclose(y, expected, atol=1e-5)
    slots = np.asarray([[1, 4, 8], [3, 8, 8]])
    q, k = turned(build(), x, steps, slots)
    np.testing.assert_allclose(k, expected, atol=1e-5)
    for example in range(2):
        np.testing.assert_allclose(q[example], expected[example, slots[example]], atol=1e-5)


@pytest.mark.slow
def test_a_quarter_turn_worked_by_hand():
    """The first quarter turn takes the pair (1, 0) to (0, 1), the second takes it to (-1, 0)."""
    x, steps = np.tile([1.0, 0.0], (1, 2, 2, 1)), np.full((1, 2, 2, 1), np.pi / 2)
    np.testing.assert_allclose(
        turned(build(head_dim=2), x, steps)[1][0, :, 0], [[0, 1], [-1, 0]], atol=1e-6
    )


@pytest.mark.parametrize("gate", [False, True])
def test_steps_are_the_projection_of_parts_of_length_one(gate):
    encoding, x = build(gate=gate), 5 * np.random.default_rng(1).normal(size=(2, 5, 16))
    found, weights = encoding.features(jnp.asarray(x, jnp.float32), jnp.arange(5)[None])[1]
    parts = x.reshape(2, 5, 2, 8)
    unit = (parts / np.linalg.norm(parts, axis=-1, keepdims=True)).reshape(2, 5, 16)
    down, up = (np.asarray(p.kernel[...], float) for p in (encoding.down, encoding.up))
    assert down.shape == (16, 16)
    expected = (unit @ down @ up).reshape(2, 5, 2, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-7)
    if gate:
        logits = unit @ np.asarray(encoding.gate.kernel[...], float)
        np.testing.assert_allclose(weights, 1 / (1 + np.exp(-logits)), atol=1e-6)
    else:
        assert weights is None


def test_with_convolution_and_gate_it_agrees_with_the_authors_code():
    name = "selective_rope_convolution_gate_L6"
    entry = reference.entry(name)
    given = {n: jnp.asarray(a, jnp.float32) for n, a in entry["inputs"].items()}
    encoding = SelectiveRoPE(
        rank=3,
        base=100.0,
        temperature=1.5,
        gate=True,
        convolution=4,
        width=8,
        num_heads=2,
        head_dim=4,
        rngs=codes.rngs(),
    )
    encoding.down.kernel[...] = given["down"]
    encoding.up.kernel[...] = given["up"]
    encoding.kernel[...] = given["kernel"]
    encoding.gate.kernel[...] = given["gate_kernel"]
    encoding.gate.bias[...] = given["gate_bias"]
    features = encoding.features(given["x"][None], jnp.arange(6)[None])[1]
    t = dataclasses.replace(codes.tokens(range(6)), features=features)
    q, k = encoding.transform_qk(given["q"][None], given["k"][None], t, t)
    reference.assert_agrees(q[0], name, entry["value"]["q"])
    reference.assert_agrees(k[0], name, entry["value"]["k"])


def test_temperature_multiplies_all_factors():
    np.testing.assert_allclose(
        build(temperature=0.3, base=16.0).factors, [0.3, 0.15, 0.075, 0.0375]
    )


@pytest.mark.full
def test_types_are_kept_and_a_zeroed_token_has_finite_gradients():
    x = jnp.zeros((1, 3, 16), jnp.bfloat16)
    steps, weights = build(gate=True).features(x, jnp.arange(3)[None])[1]
    assert steps.dtype == jnp.float32
    t = dataclasses.replace(codes.tokens(range(3)), features=(steps, weights))
    assert {y.dtype for y in build().transform_qk(*(x.reshape(1, 3, 2, 8),) * 2, t, t)} == {
        jnp.dtype(jnp.bfloat16)
    }
    grad = jax.grad(lambda x: build(gate=True).features(x, jnp.arange(3)[None])[1][0].sum())(
        jnp.zeros((1, 3, 16))
    )
    assert np.isfinite(grad).all()
