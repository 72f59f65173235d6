import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.fire import FIRE
from tests import reference
from tests.encodings import codes

ARGUMENTS = {"start_threshold": 4.0}  # else its positions are all below, where it is relative
SENSITIVE = {"hidden_width": (32, 4), "start_rate": (0.1, 2.0), "start_threshold": (4.0, 30.0)}
PAST = np.tril(np.ones((6, 6)))


def of_reference():
    given = reference.entry("fire_h2_L6")["inputs"]
    encoding = FIRE(hidden_width=4, start_rate=given["c"], start_threshold=float(given["L"]), num_heads=2, rngs=codes.rngs())
    for layer, i in ((encoding.into, 1), (encoding.out, 2)):
        layer.kernel[...], layer.bias[...] = jnp.asarray(given[f"W{i}"]).T, jnp.asarray(given[f"b{i}"])
    return encoding


def test_agrees_with_reference_where_the_past_is():
    t, expected = codes.tokens(range(6)), reference.entry("fire_h2_L6")["value"]
    reference.assert_agrees(np.asarray(of_reference().normalized_distance(t, t)[0]) * PAST, "fire_h2_L6", expected["normalized_distance"])
    reference.assert_agrees(np.asarray(of_reference().bias(t, t)[0]) * PAST, "fire_h2_L6", np.asarray(expected["bias"]) * PAST)


def test_the_larger_of_position_and_threshold_divides_not_the_smaller():
    """position-coupling's code takes the smaller: its values are the reference's divergence."""
    t = codes.tokens(range(6))
    wrong = np.asarray(reference.entry("fire_position_coupling_divergence")["value"])
    assert np.abs(np.asarray(of_reference().normalized_distance(t, t)[0]) * PAST - wrong)[1].max() > 0.5


def test_agrees_with_the_equation_in_float64():
    places, encoding = np.array([0, 1, 5, 9, 40]), FIRE(hidden_width=3, start_threshold=6.0, num_heads=2, rngs=codes.rngs())
    encoding.threshold_factor[...], encoding.rate[...] = jnp.asarray(-1.5), jnp.asarray(-0.2)
    w1, b1, w2, b2 = (np.asarray(p, np.float64) for p in (encoding.into.kernel, encoding.into.bias, encoding.out.kernel, encoding.out.bias))
    found = encoding.bias(codes.tokens(places), codes.tokens(places))[0]
    for i, q in enumerate(places):
        for j, k in enumerate(places):
            x = np.log(0.2 * abs(q - k) + 1) / (np.log(0.2 * max(q, 9.0) + 1) + 1e-6)
            np.testing.assert_allclose(found[:, i, j], np.maximum(x * w1[0] + b1, 0) @ w2 + b2, atol=1e-5)


@pytest.mark.parametrize("first", [0, 6])
@pytest.mark.parametrize("threshold", [3.0, 100.0])
def test_on_one_arange_it_is_the_same_above_and_below_the_threshold(first, threshold):
    """Also where positions do not start from 0, and in its gradients."""
    encoding = FIRE(start_threshold=threshold, num_heads=2, rngs=codes.rngs())
    graph, params = nnx.split(encoding)

    def total(params, arange):
        t = codes.tokens(np.arange(7) + first, arange)
        return jnp.sin(nnx.merge(graph, params).bias(t, t)).sum()

    (whole, of_whole), (fast, of_fast) = (jax.value_and_grad(total)(params, arange) for arange in (False, True))
    np.testing.assert_allclose(whole, fast, rtol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), of_whole, of_fast)


def test_the_threshold_is_learned_and_so_is_the_rate():
    t = codes.tokens(range(6))

    def total(factor, rate):
        encoding = of_reference()
        encoding.threshold_factor[...], encoding.rate[...] = factor, rate
        return encoding.normalized_distance(t, t).sum()

    assert all(abs(g) > 0.1 for g in jax.grad(total, (0, 1))(jnp.asarray(1.0), jnp.asarray(0.1)))


def test_below_the_threshold_distances_alone_count_and_beyond_it_the_past_fits_into_one():
    encoding = FIRE(start_threshold=100.0, num_heads=2, rngs=codes.rngs())
    near = [encoding.bias(t, t) for t in (codes.tokens([0, 3, 7]), codes.tokens([50, 53, 57]))]
    np.testing.assert_allclose(*near, atol=1e-5)
    far = codes.tokens([0, 10**6])
    np.testing.assert_allclose(encoding.normalized_distance(far, far)[0, 1], [1.0, 0.0], atol=1e-6)


def test_a_threshold_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"more than 0, got 32, 0\.1 and 0"):
        FIRE(start_threshold=0.0, num_heads=2, rngs=codes.rngs())
