import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.rope import RoPE
from tests import reference
from tests.encodings import codes

LINEAR, NTK = dict(scaling="linear", factor=4.0), dict(scaling="ntk", factor=4.0)
YARN, LLAMA3 = (dict(scaling=s, factor=4.0, trained_length=2048) for s in ("yarn", "llama3"))
SCALINGS = pytest.mark.parametrize("arguments", [LINEAR, NTK, YARN, LLAMA3], ids=lambda a: a["scaling"])

SENSITIVE = {
    "base": (10000.0, 100.0),
    "layout": ("interleaved", "half"),
    "fraction": (1.0, 0.5),
    "scaling": (LINEAR, NTK),
    "factor": (LINEAR, LINEAR | dict(factor=2.0)),
    "trained_length": (YARN, YARN | dict(trained_length=64)),
    "beta_fast": (YARN, YARN | dict(beta_fast=1.5)),
    "beta_slow": (YARN, YARN | dict(beta_slow=8.0)),
    "low_frequency_factor": (LLAMA3, LLAMA3 | dict(low_frequency_factor=3.0)),
    "high_frequency_factor": (LLAMA3, LLAMA3 | dict(high_frequency_factor=40.0)),
}


def rotated(x, position, **arguments):
    x = jnp.asarray(x)
    return RoPE(head_dim=len(x), **arguments).rotate(x[None, None, None], codes.tokens([position]))[0, 0, 0]


def seen(head_dim, **arguments):
    """Each pair's angle per position and growth, as a query shows them."""
    y = np.asarray(rotated(np.tile([1.0, 0.0], head_dim // 2), 1, **arguments), np.float64)
    return np.arctan2(y[1::2], y[0::2]), np.hypot(y[0::2], y[1::2])


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


@pytest.mark.parametrize(
    ("variant", "arguments"),
    [
        ("default", {}),
        ("linear_factor4", LINEAR),
        ("ntk_aware_static_factor4", NTK),
        ("yarn_factor4_orig2048", YARN),
        ("yarn_factor4_orig64", YARN | dict(trained_length=64)),
        ("llama3_factor8", dict(scaling="llama3", factor=8.0, trained_length=8192, base=5e5)),
    ],
)
def test_scalings_agree_with_reference(variant, arguments):
    found = reference.entry("rope_scaling_inv_freq_hd16")["value"][variant]
    frequencies, growth = seen(16, **arguments)
    np.testing.assert_allclose(frequencies, found["inv_freq"], rtol=1e-6)
    np.testing.assert_allclose(growth, found["attention_factor"], rtol=1e-6)


def test_yarn_has_none_of_levanters_errors():
    """They are: positions divided by s beside the frequencies, half the width in the range of pairs, the root of the growth."""
    other = reference.entry("yarn_levanter_divergence")["value"]["levanter"]
    frequencies, growth = seen(16, **YARN)
    twice = np.asarray(other["effective_angle_per_position"])
    once = 4 * twice
    assert not np.isclose(frequencies, twice, rtol=0.3).any()
    np.testing.assert_array_equal(np.isclose(frequencies, once, rtol=0.3), [True] * 2 + [False] * 4 + [True] * 2)
    np.testing.assert_allclose(growth, other["temperature"] ** 2, rtol=1e-6)


def equation(scaling, r, base, s, trained, fast=32, slow=1, low=1, high=4):
    """Pair by pair, as papers and authors' code state them."""
    if scaling == "ntk":
        base = base * s ** (r / (r - 2))
    frequencies = []
    for m in range(r // 2):
        theta = 1 / base ** (2 * m / r)
        wavelength = 2 * np.pi / theta
        if scaling == "linear":
            theta = theta / s
        elif scaling == "yarn":
            start, end = (r * np.log(trained / (2 * np.pi * turns)) / np.log(base) / 2 for turns in (fast, slow))
            start, end = max(np.floor(start), 0), min(np.ceil(end), r - 1)
            g = 1 - min(max((m - start) / (end - start), 0), 1)
            theta = theta / s * (1 - g) + theta * g
        elif scaling == "llama3" and wavelength > trained / low:
            theta = theta / s
        elif scaling == "llama3" and wavelength >= trained / high:
            smooth = (trained / wavelength - low) / (high - low)
            theta = (1 - smooth) * theta / s + smooth * theta
        frequencies.append(theta)
    return frequencies


@pytest.mark.parametrize(
    ("base", "factor", "trained_length"), [(10000.0, 4.0, 64), (100.0, 2.5, 300), (5e5, 16.0, 8192), (10.0, 4.0, 1000)]
)
@pytest.mark.parametrize("fraction", [1.0, 0.25])
@pytest.mark.parametrize("scaling", ["linear", "ntk", "yarn", "llama3"])
def test_scalings_are_their_equations_in_the_rotated_width(scaling, fraction, base, factor, trained_length):
    rope = RoPE(head_dim=64, fraction=fraction, base=base, scaling=scaling, factor=factor, trained_length=trained_length)
    expected = equation(scaling, round(64 * fraction), base, factor, trained_length)
    np.testing.assert_allclose(rope.frequencies, expected, rtol=1e-12)


def test_scalings_worked_by_hand():
    """Six channels and base 1000 are frequencies 1, 0.1 and 0.01."""

    def frequencies(**arguments):
        return RoPE(head_dim=6, base=1000.0, **arguments).frequencies

    assert frequencies(**LINEAR) == pytest.approx([0.25, 0.025, 0.0025])
    assert frequencies(**NTK) == pytest.approx([1, 0.1 / 2, 0.01 / 4])  # base 8000
    # 64 / 2 pi = 10.2 = 1000^0.336: the pair at m = 1.01 turns once, that of 32 turns lies below 0, so the range is 0 to 2
    halfway = [1, 0.1 * (1 / 2 + 1 / 8), 0.01 / 4]
    assert frequencies(**YARN | dict(trained_length=64)) == pytest.approx(halfway)
    # turns in 157 positions: 25, 2.5 and 0.25, and 2.5 is halfway from 1 to 4
    assert frequencies(**LLAMA3 | dict(trained_length=157)) == pytest.approx(halfway, rel=1e-3)


def test_linear_fits_s_positions_into_one():
    x = jax.random.normal(jax.random.key(2), (8,))
    np.testing.assert_allclose(rotated(x, 4 * 13, **LINEAR), rotated(x, 13), atol=1e-6)


def test_yarn_sharpens_what_is_rotated_by_the_square():
    x = jnp.asarray([1.0, 2.0, 3.0, 4.0])
    y = rotated(x, 9, fraction=0.5, **YARN)
    assert float(y @ y) == pytest.approx((1 + 4) * (1 + 0.1 * np.log(4)) ** 2 + 9 + 16, rel=1e-6)


@SCALINGS
def test_scaled_products_depend_on_the_distance_alone(arguments):
    q, k = jax.random.normal(jax.random.key(3), (2, 8))
    near, far = (rotated(q, m, **arguments) @ rotated(k, m - 3, **arguments) for m in (5, 42))
    assert float(near) == pytest.approx(float(far), abs=1e-5)


@SCALINGS
def test_a_factor_of_one_is_no_scaling(arguments):
    x = jax.random.normal(jax.random.key(4), (8,))
    np.testing.assert_allclose(rotated(x, 100, **arguments | dict(factor=1.0)), rotated(x, 100), atol=1e-6)


@pytest.mark.parametrize(("base", "trained_length", "divided"), [(10.0, 8192, [1, 1, 1, 1]), (10000.0, 1, [1, 4, 4, 4])])
def test_yarns_range_outside_of_the_pairs_keeps_the_fast_and_divides_the_slow(base, trained_length, divided):
    found = RoPE(head_dim=8, base=base, scaling="yarn", factor=4.0, trained_length=trained_length).frequencies
    np.testing.assert_allclose(RoPE(head_dim=8, base=base).frequencies / np.asarray(found), divided, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(factor=4.0), "factor 4 needs a scaling: 'linear', 'ntk', 'yarn' or 'llama3'"),
        (LINEAR | dict(factor=0.5), "at least 1, got 0.5"),
        (YARN | dict(trained_length=None), "'yarn' needs trained_length, the positions seen in training, got None"),
        (LLAMA3 | dict(trained_length=0), "'llama3' needs trained_length, the positions seen in training, got 0"),
        (NTK | dict(fraction=0.25), "'ntk' leaves the first pair alone, so it needs another"),
        (LLAMA3 | dict(low_frequency_factor=4.0), "low_frequency_factor must be below .* got 4 and 4"),
        (YARN | dict(beta_slow=40.0), "beta_fast > beta_slow > 0, got 10000, 32 and 40"),
        (YARN | dict(base=1.0), "a base above 1 .* got 1, 32 and 1"),
    ],
)
def test_scalings_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        RoPE(head_dim=8, **arguments)
