import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.kerple import KERPLE
from tests import reference
from tests.encodings import codes

SENSITIVE = {"form": ("logarithmic", "power")}
PLACES = np.array([0, 2, 3, 7, 20])


def built(form, scale_or_power, rate):
    encoding = KERPLE(form=form, num_heads=len(rate), rngs=codes.rngs())
    encoding.scale_or_power[...], encoding.rate[...] = (
        jnp.asarray(scale_or_power),
        jnp.asarray(rate),
    )
    return encoding


@pytest.mark.parametrize(
    ("form", "name"), [("logarithmic", "kerple_log_h2_L6"), ("power", "kerple_power_h2_L6")]
)
@codes.every_form
def test_agrees_with_reference_where_the_past_is(form, name, compute):
    given, expected = (reference.entry(name)[k] for k in ("inputs", "value"))
    t = compute.tokens(range(6))
    past = np.tril(np.ones((6, 6)))
    bias = compute.hook(built(form, given["p"], given["a"]), "bias")(t, t)
    reference.assert_agrees(np.asarray(bias[0]) * past, name, np.asarray(expected) * past)


@pytest.mark.parametrize("form", ["logarithmic", "power"])
def test_agrees_with_the_equation_in_float64_on_both_sides(form):
    p, a = np.array([0.7, 1.9, 0.3]), np.array([0.4, 0.05, 2.0])
    t = codes.tokens(PLACES)
    found = built(form, p, a).bias(t, t)[0]
    for h in range(3):
        for i, q in enumerate(PLACES):
            for j, k in enumerate(PLACES):
                distance = float(abs(q - k))
                wanted = (
                    -p[h] * np.log(1 + a[h] * distance)
                    if form == "logarithmic"
                    else -a[h] * distance ** p[h]
                )
                assert abs(found[h, i, j] - wanted) < 1e-5 * max(1, abs(wanted))


@pytest.mark.slow
def test_learned_numbers_stay_positive_and_a_power_stays_below_two():
    """The clamp is part of the formula: no parameter is changed."""
    t = codes.tokens([0, 3])
    np.testing.assert_allclose(built("power", [5.0], [1.0]).bias(t, t)[0, 0, 0, 1], -9.0, rtol=1e-6)
    np.testing.assert_allclose(
        built("power", [1.0], [-5.0]).bias(t, t)[0, 0, 0, 1], -0.03, rtol=1e-6
    )
    encoding = built("logarithmic", [-5.0], [1.0])
    np.testing.assert_allclose(encoding.bias(t, t)[0, 0, 0, 1], -0.01 * np.log(4), rtol=1e-6)
    assert encoding.scale_or_power[...].tolist() == [-5.0]


def test_it_starts_uniform_in_the_papers_ranges():
    encoding = KERPLE(num_heads=4000, rngs=codes.rngs())
    for parameter, top in ((encoding.scale_or_power, 2.0), (encoding.rate, 1.0)):
        x = np.asarray(parameter[...])
        assert 0 <= x.min() < 0.01 * top
        assert 0.99 * top < x.max() < top
        np.testing.assert_allclose(x.mean(), top / 2, atol=0.03 * top)


def test_at_a_million_positions_the_logarithm_is_exact():
    t = codes.tokens([0, 10**6, 10**6 + 1])
    found = built("logarithmic", [1.0], [1.0]).bias(t, t)[0, 0]
    np.testing.assert_allclose(
        found, -np.log1p([[0, 10**6, 10**6 + 1], [10**6, 0, 1], [10**6 + 1, 1, 0]]), rtol=1e-6
    )
