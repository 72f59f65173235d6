import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.relative_logits import RelativeLogits
from tests import reference
from tests.encodings import codes
from tests.marks import full

SENSITIVE = {"extent": (1024, 5), "num_profiles": (16, 2)}
REFUSALS = [
    (dict(extent=0, num_profiles=3), "at least 1, got 0 and 3"),
    (dict(extent=4, num_profiles=0), "at least 1, got 4 and 0"),
]


def encoding(extent=4, num_profiles=3):
    return RelativeLogits(
        extent=extent, num_profiles=num_profiles, width=6, num_heads=2, rngs=codes.rngs()
    )


def bias(e, x, positions, compute=codes.EQUATION):
    t = compute.tokens(positions)
    Q = dataclasses.replace(t, features=e.features(x, t.positions)[0])
    return np.asarray(codes.content_bias(e, Q, t, e.mixture.shape[1], compute=compute))


def equation(e, x, positions):
    """One query and key at a time, in float64."""
    mixture, profiles, x = (np.asarray(a, np.float64) for a in (e.mixture[...], e.profiles[...], x))
    out = np.zeros((len(x), 2, len(positions), len(positions)))
    for b, h, i, j in np.ndindex(out.shape):
        if 0 <= (distance := positions[i] - positions[j]) < profiles.shape[1]:
            out[b, h, i, j] = x[b, i] @ mixture[:, h] @ profiles[:, distance]
    return out


@pytest.mark.slow
@codes.every_form
def test_agrees_with_reference(compute):
    given = reference.entry("inkling_rel_bias_L5")["inputs"]
    e = RelativeLogits(
        extent=given["extent"], num_profiles=2, width=2, num_heads=1, rngs=codes.rngs()
    )
    e.profiles[...], e.mixture[...] = jnp.asarray(given["P"]), jnp.eye(2)[:, None]
    reference.assert_agrees(
        bias(e, jnp.asarray(given["r"])[None], range(5), compute)[0, 0], "inkling_rel_bias_L5"
    )


@pytest.mark.slow
def test_equation_at_uneven_positions():
    e, x = encoding(), jax.random.normal(jax.random.key(0), (2, 6, 6))
    positions = [4, 0, 17, 5, 2, 18]
    np.testing.assert_allclose(bias(e, x, positions), equation(e, x, positions), atol=1e-6)


@codes.every_kernel
@pytest.mark.parametrize("extent", [1, full(4), 6, full(20)])
def test_equation_at_an_arange_shorter_and_longer_than_the_extent(extent, compute):
    e, x = encoding(extent), jax.random.normal(jax.random.key(0), (2, 6, 6))
    np.testing.assert_allclose(
        bias(e, x, range(3, 9), compute), equation(e, x, range(6)), atol=1e-6
    )
