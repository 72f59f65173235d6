import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.rope import RoPE
from tests import reference
from tests.encodings import codes

SENSITIVE = {"base": (10000.0, 100.0), "layout": ("interleaved", "half"), "fraction": (1.0, 0.5)}


def rotated(x, position, **arguments):
    x = jnp.asarray(x)
    return RoPE(head_dim=len(x), **arguments).rotate(x[None, None, None], codes.tokens([position]))[0, 0, 0]


@pytest.mark.parametrize(
    ("entry", "arguments"),
    [
        ("rope_d8_pos3_interleaved", {"layout": "interleaved"}),
        ("rope_d8_pos3_half", {"layout": "half"}),
        ("rope_partial_d8_r4_pos3_interleaved", {"layout": "interleaved", "fraction": 0.5}),
    ],
)
def test_agrees_with_reference(entry, arguments):
    np.testing.assert_allclose(
        rotated(np.arange(1.0, 9, dtype=np.float32), 3, **arguments), reference.entry(entry)["value"], rtol=1e-6, atol=1e-6
    )


def test_layouts_are_one_function_up_to_a_permutation():
    permutation = np.asarray(reference.entry("rope_layout_permutation_d8")["value"])
    x = jax.random.normal(jax.random.key(0), (8,))
    np.testing.assert_allclose(rotated(x[permutation], 5, layout="half"), rotated(x, 5)[permutation], atol=1e-6)


def test_products_depend_on_the_distance_alone():
    given = reference.entry("rope_relative_property_d8")["inputs"]
    q, k = (np.asarray(given[n], np.float32) for n in "qk")
    products = [rotated(q, m) @ rotated(k, n) for m, n in ((5, 2), (8, 5), (2, 5))]
    reference.assert_agrees(products, "rope_relative_property_d8")


def test_lengths_are_kept():
    x = jax.random.normal(jax.random.key(1), (8,))
    assert float(jnp.linalg.norm(rotated(x, 1234))) == pytest.approx(float(jnp.linalg.norm(x)), rel=1e-6)


def test_equation_in_float64_at_large_positions():
    """Angles are float32: at position 1e5 the result is right to about 1e-2, as the docstring says."""
    x, p = np.array([1.0, 0.0, 0.0, 1.0]), 100_000
    angles = p * 10000.0 ** (-np.array([0.0, 2.0]) / 4)
    exact = [np.cos(angles[0]), np.sin(angles[0]), -np.sin(angles[1]), np.cos(angles[1])]
    np.testing.assert_allclose(rotated(x.astype(np.float32), p), exact, atol=1e-2)


def test_odd_head_width_is_refused():
    with pytest.raises(ValueError, match="RoPE rotates pairs, so the head width must be even, got 3"):
        RoPE(head_dim=3)


@pytest.mark.parametrize("fraction", [0.0, 0.4, 1.5])
def test_a_fraction_without_whole_pairs_is_refused(fraction):
    with pytest.raises(ValueError, match=f"even number of channels, but {fraction} of the head width 8"):
        RoPE(head_dim=8, fraction=fraction)
