import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.sandwich import Sandwich
from pe_lab.encodings.sinusoidal import Sinusoidal
from pe_lab.kernels import diagonals
from pe_lab.kernels.encodings import hook
from tests import reference
from tests.encodings import codes

SENSITIVE = {"code_width": (128, 16), "base": (10000.0, 10.0)}


@codes.every_form
def test_agrees_with_reference(compute):
    t = compute.tokens(range(6))
    expected = reference.entry("sandwich_h2_L6_dbar8")["value"]["nemo"]
    bias = compute.hook(Sandwich(code_width=8, num_heads=2), "bias")(t, t)
    reference.assert_agrees(bias[0], "sandwich_h2_L6_dbar8", expected)


@codes.every_form
def test_agrees_with_the_equation_in_float64_at_uneven_positions(compute):
    places = np.array([0, 3, 4, 11, 100])
    t = codes.tokens(places)
    found = compute.hook(Sandwich(code_width=16, num_heads=3), "bias")(t, t)[0]
    k = np.arange(1, 9)
    for h in range(3):
        for i, q in enumerate(places):
            for j, s in enumerate(places):
                wanted = (
                    (np.cos(abs(q - s) * 10000.0 ** (-2 * k / 16)) - 1).sum() * 3 / (8 * (h + 1))
                )
                assert abs(found[h, i, j] - wanted) < 1e-5


@pytest.mark.full
def test_up_to_a_constant_it_is_the_inner_product_of_sinusoidal_codes():
    """Of the frequencies k = 1..C/2, one further than the code's own."""
    t = codes.tokens(range(9))
    code = codes.embed(
        Sinusoidal(width=18, base=10000.0 ** (18 / 16), rngs=codes.rngs()), range(9)
    )[:, 2:]
    of_first_head = Sandwich(code_width=16, num_heads=1).bias(t, t)[0, 0]
    np.testing.assert_allclose(of_first_head, (code @ code.T - 8) / 8, atol=1e-5)


def test_with_a_row_for_each_example_no_array_has_a_channel_for_each_pair():
    positions = jnp.broadcast_to(jnp.arange(64), (3, 64))
    t = codes.tokens(range(64)).__class__(positions)
    jaxpr = jax.make_jaxpr(
        lambda p: hook(diagonals.CPU, Sandwich(num_heads=2), "bias")(t.__class__(p), t.__class__(p))
    )(positions)
    assert max(np.prod(v.aval.shape) for e in jaxpr.eqns for v in e.outvars) <= 3 * 64 * 2 * 128


def test_an_odd_code_is_refused():
    with pytest.raises(ValueError, match="even and at least 2, got 7"):
        Sandwich(code_width=7, num_heads=2)
