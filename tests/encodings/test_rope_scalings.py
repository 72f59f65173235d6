"""Scalings of RoPE's frequencies agree with their equations and with values by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.rope import RoPE
from tests import reference
from tests.encodings.rope_scalings import (
    DYNAMIC,
    LINEAR,
    LLAMA3,
    LONGROPE,
    NTK,
    YARN,
    rotated,
    seen,
)

LONGROPE_HF = dict(
    scaling="longrope",
    factor=4.0,
    trained_length=2048,
    long_factors=tuple(1 + m / 2 for m in range(8)),
    short_factors=(1.0,) * 8,
)
SCALINGS = pytest.mark.parametrize(
    "arguments", [LINEAR, NTK, YARN, LLAMA3], ids=lambda a: a["scaling"]
)


@pytest.mark.parametrize(
    ("variant", "arguments"),
    [
        ("default", {}),
        ("linear_factor4", LINEAR),
        ("ntk_aware_static_factor4", NTK),
        ("yarn_factor4_orig2048", YARN),
        ("yarn_factor4_orig64", YARN | dict(trained_length=64)),
        ("llama3_factor8", dict(scaling="llama3", factor=8.0, trained_length=8192, base=5e5)),
        ("dynamic_ntk_factor4_train2048_len8192", DYNAMIC | dict(length=8192)),
        ("dynamic_ntk_factor4_train2048_len2048", DYNAMIC | dict(length=2048)),
        ("longrope_factor4_orig2048_long", LONGROPE_HF | dict(length=2049)),
        ("longrope_factor4_orig2048_short", LONGROPE_HF | dict(length=2048)),
        ("proportional_p0.25", dict(proportion=0.25)),
    ],
)
def test_scalings_agree_with_reference(variant, arguments):
    found = reference.entry("rope_scaling_inv_freq_hd16")["value"][variant]
    frequencies, growth = seen(16, **arguments)
    np.testing.assert_allclose(
        frequencies, found["inv_freq"], rtol=1e-6, atol=2e-9
    )  # angles are whole 2 pi / 2^32
    np.testing.assert_allclose(growth, found["attention_factor"], rtol=1e-6)


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
            start, end = (
                r * np.log(trained / (2 * np.pi * turns)) / np.log(base) / 2
                for turns in (fast, slow)
            )
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
    ("base", "factor", "trained_length"),
    [(10000.0, 4.0, 64), (100.0, 2.5, 300), (5e5, 16.0, 8192), (10.0, 4.0, 1000)],
)
@pytest.mark.parametrize("fraction", [1.0, 0.25])
@pytest.mark.parametrize("scaling", ["linear", "ntk", "yarn", "llama3"])
def test_scalings_are_their_equations_in_the_rotated_width(
    scaling, fraction, base, factor, trained_length
):
    rope = RoPE(
        head_dim=64,
        fraction=fraction,
        base=base,
        scaling=scaling,
        factor=factor,
        trained_length=trained_length,
    )
    expected = equation(scaling, round(64 * fraction), base, factor, trained_length)
    np.testing.assert_allclose(rope.frequencies, expected, rtol=1e-12)


def test_scalings_worked_by_hand():
    """Six channels and base 1000 are frequencies 1, 0.1 and 0.01."""

    def frequencies(**arguments):
        return RoPE(head_dim=6, base=1000.0, **arguments).frequencies

    assert frequencies(**LINEAR) == pytest.approx([0.25, 0.025, 0.0025])
    assert frequencies(**NTK) == pytest.approx([1, 0.1 / 2, 0.01 / 4])  # base 8000
    # 64 / 2 pi = 10.2 = 1000^0.336: the pair at m = 1.01 turns once, and the one that turns 32
    # times would be below 0. So the range is 0 to 2.
    halfway = [1, 0.1 * (1 / 2 + 1 / 8), 0.01 / 4]
    assert frequencies(**YARN | dict(trained_length=64)) == pytest.approx(halfway)
    # turns in 157 positions: 25, 2.5 and 0.25, and 2.5 is halfway from 1 to 4
    assert frequencies(**LLAMA3 | dict(trained_length=157)) == pytest.approx(halfway, rel=1e-3)


@pytest.mark.slow
def test_yarn_sharpens_what_is_rotated_by_the_square():
    x = jnp.asarray([1.0, 2.0, 3.0, 4.0])
    y = rotated(x, 9, fraction=0.5, **YARN)
    assert float(y @ y) == pytest.approx((1 + 4) * (1 + 0.1 * np.log(4)) ** 2 + 9 + 16, rel=1e-6)


@SCALINGS
def test_a_factor_of_one_is_no_scaling(arguments):
    x = jax.random.normal(jax.random.key(4), (8,))
    np.testing.assert_allclose(
        rotated(x, 100, **arguments | dict(factor=1.0)), rotated(x, 100), atol=1e-6
    )


@pytest.mark.parametrize(
    ("base", "trained_length", "divided"), [(10.0, 8192, [1, 1, 1, 1]), (10000.0, 1, [1, 4, 4, 4])]
)
def test_yarns_range_outside_of_the_pairs_keeps_the_fast_and_divides_the_slow(
    base, trained_length, divided
):
    found = RoPE(
        head_dim=8, base=base, scaling="yarn", factor=4.0, trained_length=trained_length
    ).frequencies
    np.testing.assert_allclose(
        RoPE(head_dim=8, base=base).frequencies / np.asarray(found), divided, rtol=1e-12
    )


def test_yarn_without_rounded_pairs_blends_between_the_exact_ones():
    """Pairs that turn 32 times and once in 2048 positions: 8 ln(2048 / (2 pi t)) / ln 10000."""
    start, end = (8 * np.log(2048 / (2 * np.pi * turns)) / np.log(10000.0) for turns in (32, 1))
    assert (round(start, 2), round(end, 2)) == (2.02, 5.03)
    theta = 10000.0 ** (-np.arange(8) / 8)
    divided = np.clip((np.arange(8) - start) / (end - start), 0, 1)
    expected = theta / 4 * divided + theta * (1 - divided)
    found = RoPE(head_dim=16, truncate=False, **YARN).frequencies
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert not np.allclose(found, RoPE(head_dim=16, **YARN).frequencies, rtol=1e-3)


def test_llama3_with_equal_factors_is_a_step():
    """In 2048 positions, pairs of 16 channels turn 326, 103, 33, 10, 3.3, 1.03, 0.3, 0.1 times."""
    equal = LLAMA3 | dict(low_frequency_factor=2.0, high_frequency_factor=2.0)
    found = RoPE(head_dim=16, **equal).frequencies
    divisors = 10000.0 ** (-np.arange(8) / 8) / found
    np.testing.assert_allclose(divisors, [1, 1, 1, 1, 1, 4, 4, 4], rtol=1e-12)


@pytest.mark.parametrize("arguments", [YARN, LONGROPE_HF], ids=lambda a: a["scaling"])
def test_an_attention_factor_takes_the_place_of_the_scalings_own(arguments):
    _, growth = seen(16, 1, **arguments, attention_factor=1.25)
    np.testing.assert_allclose(growth, 1.25, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            dict(factor=4.0),
            "factor 4 needs a scaling: 'linear', 'ntk', 'yarn', 'llama3', "
            "'dynamic_ntk' or 'longrope'",
        ),
        (LINEAR | dict(factor=0.5), "at least 1, got 0.5"),
        (
            YARN | dict(trained_length=None),
            "'yarn' needs trained_length, the positions seen in training, got None",
        ),
        (
            LLAMA3 | dict(trained_length=0),
            "'llama3' needs trained_length, the positions seen in training, got 0",
        ),
        (NTK | dict(fraction=0.25), "'ntk' leaves the first pair alone, so it needs another"),
        (
            LLAMA3 | dict(low_frequency_factor=5.0),
            "low_frequency_factor must be at most .* got 5 and 4",
        ),
        (
            LINEAR | dict(attention_factor=1.5),
            "attention_factor is of the scalings 'yarn' and 'longrope', got 'linear'",
        ),
        (YARN | dict(attention_factor=0.0), "attention_factor must be above 0"),
        (YARN | dict(beta_slow=40.0), "beta_fast > beta_slow > 0, got 10000, 32 and 40"),
        (dict(base=0.0), r"RoPE's base must be above 0 \(from 1e-30 to 1e\+30\), got 0"),
        (dict(base=-1.0), r"RoPE's base must be above 0 \(from 1e-30 to 1e\+30\), got -1"),
        (YARN | dict(base=1.0), "a base above 1 .* got 1, 32 and 1"),
        (
            DYNAMIC | dict(trained_length=None),
            "'dynamic_ntk' needs trained_length, the positions seen in training, got None",
        ),
        (
            DYNAMIC | dict(fraction=0.25),
            "'dynamic_ntk' leaves the first pair alone, so it needs another",
        ),
        (
            LONGROPE | dict(trained_length=1),
            "'longrope' needs trained_length, the positions seen in training, got 1",
        ),
        (
            LONGROPE | dict(long_factors=(1.0, 2.0)),
            r"long_factors are one factor for each of the 4 pairs, got \(1.0, 2.0\)",
        ),
        (
            LONGROPE | dict(short_factors=(1.0, 2.0, 0.0, 1.0)),
            r"RoPE's short_factors\[2\] must be above 0 .*, got 0",
        ),
        (
            LINEAR | dict(long_factors=(1.0, 2.0, 3.0, 4.0)),
            "long_factors and short_factors are of the scaling 'longrope', got 'linear'",
        ),
        (
            dict(proportion=0.2),
            "proportion must leave between one pair and all 4 of them turning, got 0.2",
        ),
        (
            dict(proportion=1.5),
            "proportion must leave between one pair and all 4 of them turning, got 1.5",
        ),
    ],
)
def test_scalings_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        RoPE(head_dim=8, **arguments)
