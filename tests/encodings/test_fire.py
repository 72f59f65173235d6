import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.fire import FIRE
from tests import reference
from tests.encodings import codes
from tests.models import ARCHITECTURES

ARGUMENTS = {"start_threshold": 4.0}  # else its positions are all below, where it is relative
# Below the threshold FIRE reads distances alone.
EXCUSED = [
    (
        {"start_threshold": 30.0},
        ARCHITECTURES,
        "between_two_streams_both_positions_are_read",
        "0.0",
    )
]
SENSITIVE = {"hidden_width": (32, 4), "start_rate": (0.1, 2.0), "start_threshold": (4.0, 30.0)}
REFUSALS = [
    (dict(start_threshold=0.0), r"FIRE's start_threshold must be above 0 .*, got 0"),
]
PAST = np.tril(np.ones((6, 6)))


def of_reference():
    given = reference.entry("fire_h2_L6")["inputs"]
    encoding = FIRE(
        hidden_width=4,
        start_rate=given["c"],
        start_threshold=float(given["L"]),
        num_heads=2,
        rngs=codes.rngs(),
    )
    for layer, i in ((encoding.into, 1), (encoding.out, 2)):
        layer.kernel[...], layer.bias[...] = (
            jnp.asarray(given[f"W{i}"]).T,
            jnp.asarray(given[f"b{i}"]),
        )
    return encoding


@pytest.mark.slow
def test_agrees_with_reference_where_the_past_is():
    t, expected = codes.tokens(range(6)), reference.entry("fire_h2_L6")["value"]
    reference.assert_agrees(
        np.asarray(of_reference().normalized_distance(t, t)[0]) * PAST,
        "fire_h2_L6",
        expected["normalized_distance"],
    )
    reference.assert_agrees(
        np.asarray(of_reference().bias(t, t)[0]) * PAST,
        "fire_h2_L6",
        np.asarray(expected["bias"]) * PAST,
    )


@pytest.mark.slow
def test_agrees_with_the_equation_in_float64():
    places, encoding = (
        np.array([0, 1, 5, 9, 40]),
        FIRE(hidden_width=3, start_threshold=6.0, num_heads=2, rngs=codes.rngs()),
    )
    encoding.threshold_factor[...], encoding.rate[...] = jnp.asarray(-1.5), jnp.asarray(-0.2)
    w1, b1, w2, b2 = (
        np.asarray(p, np.float64)
        for p in (encoding.into.kernel, encoding.into.bias, encoding.out.kernel, encoding.out.bias)
    )
    found = encoding.bias(codes.tokens(places), codes.tokens(places))[0]
    for i, q in enumerate(places):
        for j, k in enumerate(places):
            x = np.log(0.2 * abs(q - k) + 1) / (np.log(0.2 * max(q, 9.0) + 1) + 1e-6)
            np.testing.assert_allclose(
                found[:, i, j], np.maximum(x * w1[0] + b1, 0) @ w2 + b2, atol=1e-5
            )


@pytest.mark.full
@codes.every_kernel
@pytest.mark.parametrize("first", [0, 6])
@pytest.mark.parametrize("threshold", [3.0, 100.0])
def test_on_one_arange_it_is_the_same_above_and_below_the_threshold(first, threshold, compute):
    """Also where positions do not start from 0, and in its gradients."""
    encoding = FIRE(start_threshold=threshold, num_heads=2, rngs=codes.rngs())
    graph, params = nnx.split(encoding)

    def total(params, form):
        t = form.tokens(np.arange(7) + first)
        return jnp.sin(form.hook(nnx.merge(graph, params), "bias")(t, t)).sum()

    (whole, of_whole), (fast, of_fast) = (
        jax.value_and_grad(total)(params, form) for form in (codes.EQUATION, compute)
    )
    np.testing.assert_allclose(whole, fast, rtol=1e-5)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), of_whole, of_fast
    )


@pytest.mark.slow
def test_the_threshold_is_learned_and_so_is_the_rate():
    t = codes.tokens(range(6))

    def total(factor, rate):
        encoding = of_reference()
        encoding.threshold_factor[...], encoding.rate[...] = factor, rate
        return encoding.normalized_distance(t, t).sum()

    assert all(abs(g) > 0.1 for g in jax.grad(total, (0, 1))(jnp.asarray(1.0), jnp.asarray(0.1)))


def initial_biases(hidden_width, num_seeds):
    """The network's initial output at 101 inputs in 0..1: [seed, head, input]."""
    x = jnp.linspace(0, 1, 101).reshape(1, 1, 1, -1)
    seeds = [codes.rngs(seed) for seed in range(num_seeds)]
    networks = [FIRE(hidden_width=hidden_width, num_heads=4, rngs=rngs) for rngs in seeds]
    return networks, np.stack([network.network(x)[0, :, 0] for network in networks])


def dead_share(weights, biases):
    """The share of hidden units whose pre-activation is at most 0 for every input in 0..1.

    The pre-activation is linear in the input, so it is enough to look at both ends.
    """
    return float(((biases <= 0) & (weights + biases <= 0)).mean())


@pytest.mark.full
def test_no_more_hidden_units_are_dead_than_in_the_ports():
    """The ports use PyTorch's nn.Linear(1, 32): weights and biases uniform in -1..1.

    With these 0.375 of the units are dead. Four standard errors of both samples are allowed.
    """
    networks, _ = initial_biases(32, 200)
    weights = np.stack([network.into.kernel[...][0] for network in networks])
    biases = np.stack([network.into.bias[...] for network in networks])
    draw = np.random.default_rng(0)
    ports = dead_share(draw.uniform(-1, 1, weights.shape), draw.uniform(-1, 1, biases.shape))
    standard_error = np.sqrt(2 * 0.375 * 0.625 / weights.size)
    assert abs(ports - 0.375) < 4 * standard_error
    assert dead_share(weights, biases) < ports + 4 * standard_error


@pytest.mark.slow
def test_the_initial_bias_is_no_straight_line():
    """The distance from the chord, in units of the largest bias, for every seed and head.

    Rounding bends a straight line by less than 1e-6.
    """
    _, y = initial_biases(32, 20)
    chord = np.linspace(y[..., 0], y[..., -1], y.shape[-1], axis=-1)
    bend = np.abs(y - chord).max(axis=-1) / np.abs(y).max(axis=-1)
    assert bend.min() > 1e-3


@pytest.mark.parametrize(("layer", "fan_in"), [("into", 1), ("out", 32)])
def test_layers_are_initialized_as_in_pytorch(layer, fan_in):
    """Uniform within 1 / sqrt(fan_in): the largest of many draws is close to it."""
    layers = [getattr(FIRE(num_heads=8, rngs=codes.rngs(seed)), layer) for seed in range(20)]
    for values in ([each.kernel[...] for each in layers], [each.bias[...] for each in layers]):
        largest = np.abs(np.stack(values)).max() * np.sqrt(fan_in)
        assert 0.97 < largest <= 1
