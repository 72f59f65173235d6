import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.encodings.sandwich import Sandwich
from pe_lab.kernels import diagonals
from pe_lab.kernels.encodings import hook
from tests import reference
from tests.encodings import codes

SENSITIVE = {"code_width": (128, 16), "base": (10000.0, 10.0)}
REFUSALS = [
    (dict(code_width=7), "even and at least 2, got 7"),
]


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


def test_with_a_row_for_each_example_no_array_has_a_channel_for_each_pair():
    positions = jnp.broadcast_to(jnp.arange(64), (3, 64))
    t = codes.tokens(range(64)).__class__(positions)
    jaxpr = jax.make_jaxpr(
        lambda p: hook(diagonals.CPU, Sandwich(num_heads=2), "bias")(t.__class__(p), t.__class__(p))
    )(positions)
    assert max(np.prod(v.aval.shape) for e in jaxpr.eqns for v in e.outvars) <= 3 * 64 * 2 * 128
