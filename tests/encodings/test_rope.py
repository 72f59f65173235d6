import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.rope import RoPE
from pe_lab.model.decode import extend, start
from tests import models, reference
from tests.encodings import codes
from tests.marks import full

LINEAR, NTK = dict(scaling="linear", factor=4.0), dict(scaling="ntk", factor=4.0)
YARN, LLAMA3 = (dict(scaling=s, factor=4.0, trained_length=2048) for s in ("yarn", "llama3"))
DYNAMIC = dict(scaling="dynamic_ntk", factor=4.0, trained_length=2048)
LONGROPE = dict(
    scaling="longrope",
    factor=4.0,
    trained_length=4,
    long_factors=(1.0, 2.0, 3.0, 4.0),
    short_factors=(1.0, 1.0, 1.5, 1.5),
)
LONGROPE_HF = dict(
    scaling="longrope",
    factor=4.0,
    trained_length=2048,
    long_factors=tuple(1 + m / 2 for m in range(8)),
    short_factors=(1.0,) * 8,
)
OF_LENGTH = pytest.mark.parametrize(
    "arguments", [DYNAMIC | dict(trained_length=4), LONGROPE], ids=lambda a: a["scaling"]
)
SCALINGS = pytest.mark.parametrize(
    "arguments", [LINEAR, NTK, YARN, LLAMA3], ids=lambda a: a["scaling"]
)

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
    "long_factors": (LONGROPE, LONGROPE | dict(long_factors=(4.0, 3.0, 2.0, 1.0))),
    "short_factors": (
        LONGROPE | dict(trained_length=99),
        LONGROPE | dict(trained_length=99, short_factors=(2.0, 1.0, 1.0, 1.0)),
    ),
    "proportion": (1.0, 0.5),
    "attention_factor": (YARN, YARN | dict(attention_factor=2.0)),
    "truncate": (YARN, YARN | dict(truncate=False)),
}


def rotated(x, position, length=None, **arguments):
    """A query of x at a position, in an example of a length."""
    x, tokens = jnp.asarray(x)[None, None, None], told([position], length)
    return RoPE(head_dim=x.shape[-1], **arguments).transform_qk(x, x, tokens, tokens)[0][0, 0, 0]


def told(positions, length=None):
    return dataclasses.replace(
        codes.tokens(positions), lengths=None if length is None else jnp.asarray([length])
    )


def seen(head_dim, length=None, **arguments):
    """Each pair's angle per position and growth, as a query shows them."""
    y = np.asarray(rotated(np.tile([1.0, 0.0], head_dim // 2), 1, length, **arguments), np.float64)
    return np.arctan2(y[1::2], y[0::2]), np.hypot(y[0::2], y[1::2])


@pytest.mark.parametrize(
    ("entry", "arguments"),
    [
        ("rope_d8_pos3_interleaved", {"layout": "interleaved"}),
        ("rope_d8_pos3_half", {"layout": "half"}),
        ("rope_partial_d8_r4_pos3_interleaved", {"layout": "interleaved", "fraction": 0.5}),
        ("rope_proportional_d8_p0.5_pos3_half", {"layout": "half", "proportion": 0.5}),
    ],
)
def test_agrees_with_reference(entry, arguments):
    np.testing.assert_allclose(
        rotated(np.arange(1.0, 9, dtype=np.float32), 3, **arguments),
        reference.entry(entry)["value"],
        rtol=1e-6,
        atol=1e-6,
    )


def test_layouts_are_one_function_up_to_a_permutation():
    permutation = np.asarray(reference.entry("rope_layout_permutation_d8")["value"])
    x = jax.random.normal(jax.random.key(0), (8,))
    np.testing.assert_allclose(
        rotated(x[permutation], 5, layout="half"), rotated(x, 5)[permutation], atol=1e-6
    )


def test_products_depend_on_the_distance_alone():
    given = reference.entry("rope_relative_property_d8")["inputs"]
    q, k = (np.asarray(given[n], np.float32) for n in "qk")
    products = [rotated(q, m) @ rotated(k, n) for m, n in ((5, 2), (8, 5), (2, 5))]
    reference.assert_agrees(products, "rope_relative_property_d8")


def test_lengths_are_kept():
    x = jax.random.normal(jax.random.key(1), (8,))
    assert float(jnp.linalg.norm(rotated(x, 1234))) == pytest.approx(
        float(jnp.linalg.norm(x)), rel=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["half", full("interleaved")])
def test_scores_up_to_position_one_million_are_those_of_float64(layout):
    positions, width = [0, 1, 7, 300, 65_537, 123_456, 999_983, 1_000_000], 16
    q, k = np.random.default_rng(0).normal(size=(2, len(positions), width)) / width**0.5
    frequencies = 10000.0 ** (-np.arange(0, width, 2) / width)
    expected = np.zeros((len(positions), len(positions)))
    for i, m in enumerate(positions):
        for j, n in enumerate(positions):
            for pair, theta in enumerate(frequencies):
                a, b = (
                    (2 * pair, 2 * pair + 1)
                    if layout == "interleaved"
                    else (pair, pair + width // 2)
                )
                across, along = (n - m) * theta, q[i, a] * k[j, a] + q[i, b] * k[j, b]
                expected[i, j] += np.cos(across) * along + np.sin(across) * (
                    q[i, b] * k[j, a] - q[i, a] * k[j, b]
                )
    tokens = codes.tokens(positions)
    inputs = (jnp.asarray(x, jnp.float32)[None, :, None] for x in (q, k))
    found = [
        x[0, :, 0]
        for x in RoPE(head_dim=width, layout=layout).transform_qk(*inputs, tokens, tokens)
    ]
    np.testing.assert_allclose(found[0] @ found[1].T, expected, atol=1e-5)


def test_the_opposite_sign_is_rotation_by_the_negative_position():
    """The convention of GRAPE's code and of modded-nanogpt."""
    reference.assert_agrees(
        rotated(np.arange(1.0, 9, dtype=np.float32), -3, layout="half"),
        "rope_d8_pos3_half_negative_sign",
    )


@pytest.mark.full
def test_each_layer_may_have_a_base_of_its_own():
    def logits(*bases):
        model = models.build(
            *(dict(name="rope", base=base, layers=(layer,)) for layer, base in enumerate(bases))
        )
        sites = [sites for (sites,) in model.decoder.layer_sites]
        found = [model.decoder.attention_encodings[site.index].frequencies[1] for site in sites]
        assert found == pytest.approx([base ** (-2 / 8) for base in bases])
        return models.run(model, models.stream(models.random_tokens(2, 7)))

    mixed = logits(1e4, 1e6)
    for other in ((1e6, 1e4), (1e4, 1e4), (1e6, 1e6)):
        models.assert_differs(mixed, logits(*other), 1e-4)


def test_odd_head_width_is_refused():
    with pytest.raises(
        ValueError, match="RoPE rotates pairs, so the head width must be even, got 3"
    ):
        RoPE(head_dim=3)


@pytest.mark.parametrize("fraction", [0.1, 0.4, 1.5])
def test_a_fraction_without_whole_pairs_is_refused(fraction):
    with pytest.raises(
        ValueError, match=f"even number of channels, but {fraction} of the head width 8"
    ):
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


def test_yarn_has_none_of_levanters_errors():
    """Levanter makes three errors in its frequencies and its growth.

    It divides positions by s as well, computes the range of pairs from half of the width, and takes
    the square root of the growth.
    """
    other = reference.entry("yarn_levanter_divergence")["value"]["levanter"]
    frequencies, growth = seen(16, **YARN)
    twice = np.asarray(other["effective_angle_per_position"])
    once = 4 * twice
    assert not np.isclose(frequencies, twice, rtol=0.3).any()
    np.testing.assert_array_equal(
        np.isclose(frequencies, once, rtol=0.3), [True] * 2 + [False] * 4 + [True] * 2
    )
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


def test_linear_fits_s_positions_into_one():
    x = jax.random.normal(jax.random.key(2), (8,))
    np.testing.assert_allclose(rotated(x, 4 * 13, **LINEAR), rotated(x, 13), atol=1e-6)


@pytest.mark.slow
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


def equation_of_length(scaling, length, trained, s, base=10000.0, r=8, long=(), short=()):
    if scaling == "dynamic_ntk":
        base = (
            base * ((s * length / trained) - (s - 1)) ** (r / (r - 2)) if length > trained else base
        )
        return [base ** (-2 * m / r) for m in range(r // 2)]
    return [base ** (-2 * m / r) / (long if length > trained else short)[m] for m in range(r // 2)]


@pytest.mark.parametrize("length", [1, 3, 4, 5, 17])
@OF_LENGTH
def test_scalings_that_read_the_length_are_their_equations(arguments, length):
    lists = (
        {}
        if arguments["scaling"] == "dynamic_ntk"
        else {k: LONGROPE[f"{k}_factors"] for k in ("long", "short")}
    )
    frequencies, growth = seen(8, length, **arguments)
    np.testing.assert_allclose(
        frequencies,
        equation_of_length(arguments["scaling"], length, 4, 4.0, **lists),
        rtol=2e-6,
        atol=2e-9,
    )
    np.testing.assert_allclose(
        growth,
        1 if arguments["scaling"] == "dynamic_ntk" else (1 + np.log(4) / np.log(4)) ** 0.5,
        rtol=1e-6,
    )


def test_dynamic_ntk_worked_by_hand():
    """Frequencies are 1 and 1/100. At twice the trained length the factor is 4 * 2 - 3 = 5."""
    frequencies, _ = seen(4, 20, scaling="dynamic_ntk", factor=4.0, trained_length=10)
    assert frequencies == pytest.approx([1, 0.01 / 5], rel=1e-6)


@pytest.mark.full
@OF_LENGTH
def test_each_example_is_rotated_by_its_own_length(arguments):
    x = jax.random.normal(jax.random.key(5), (2, 3, 1, 8))
    tokens = codes.tokens([0, 5, 9])
    both = dataclasses.replace(tokens, lengths=jnp.asarray([4, 11]))
    found = RoPE(head_dim=8, **arguments).transform_qk(x, x, both, both)[0]
    for row, length in enumerate((4, 11)):
        alone = dataclasses.replace(tokens, lengths=jnp.asarray([length]))
        expected = RoPE(head_dim=8, **arguments).transform_qk(
            x[row : row + 1], x[row : row + 1], alone, alone
        )[0]
        np.testing.assert_allclose(found[row], expected[0], atol=1e-6)


@OF_LENGTH
def test_queries_are_rotated_by_the_length_of_the_keys(arguments):
    q, k = jax.random.normal(jax.random.key(6), (2, 1, 1, 1, 8))
    products = []
    for m, of_query in ((9, 2), (9, 9), (46, 9)):
        rotated_q, rotated_k = RoPE(head_dim=8, **arguments).transform_qk(
            q, k, told([m], of_query), told([m - 3], 9)
        )
        products.append(float((rotated_q * rotated_k).sum()))
    np.testing.assert_allclose(products, products[0], atol=2e-5)


@pytest.mark.slow
@OF_LENGTH
def test_where_the_length_is_not_known_it_is_the_largest_key_position_and_one(arguments):
    x = jax.random.normal(jax.random.key(7), (1, 3, 1, 8))
    encoding = RoPE(head_dim=8, **arguments)
    unknown, known = (
        encoding.transform_qk(x, x, Q, K)
        for Q, K in ((told([1, 2, 3]), told([9, 5, 0])), (told([1, 2, 3]), told([9, 5, 0], 10)))
    )
    for a, b in zip(unknown, known, strict=True):
        np.testing.assert_array_equal(a, b)


@OF_LENGTH
def test_what_reads_the_length_says_so(arguments):
    assert RoPE(head_dim=8, **arguments).requirements.reads_length
    assert not RoPE(head_dim=8).requirements.reads_length


def decoded(num_layers, arguments):
    """Tokens, the model, and its logits after each token but the first two from the cache."""
    model, tokens = (
        models.build(dict(name="rope", **arguments), num_layers=num_layers),
        models.random_tokens(2, 7),
    )
    _, cache = extend(
        model, start(model, (jnp.arange(7)[None, None],), 2), tokens[:, :2], jnp.ones((2, 2), bool)
    )
    logits = models.decode(model, cache, tokens[:, 2:], jnp.ones((2, 5), bool))
    return tokens, model, np.asarray(logits)


@pytest.mark.full
@OF_LENGTH
def test_a_decoded_step_of_one_layer_equals_the_full_forward_of_that_prefix(arguments):
    """And, beyond the trained length, not the full forward of what comes in the end."""
    tokens, model, steps = decoded(1, arguments)
    for step in range(5):
        models.assert_close(
            steps[:, step], models.run(model, models.stream(tokens[:, : step + 3]))[:, -1]
        )
    whole = models.run(model, models.stream(tokens))
    models.assert_differs(steps[:, :-1], whole[:, 2:-1], 1e-4)


@pytest.mark.full
@OF_LENGTH
def test_deeper_layers_keep_what_they_computed_at_earlier_lengths(arguments):
    """Steps up to the trained length, 4, equal full forward passes. The steps after it differ."""
    tokens, model, steps = decoded(2, arguments)
    prefixes = np.stack(
        [models.run(model, models.stream(tokens[:, : step + 3]))[:, -1] for step in range(5)],
        axis=1,
    )
    models.assert_close(steps[:, :2], prefixes[:, :2])
    models.assert_differs(steps[:, 2:], prefixes[:, 2:], 1e-4)


@pytest.mark.parametrize(
    ("proportion", "head_dim", "turning"),
    [(0.25, 16, 2), (0.3, 16, 2), (0.5, 8, 2), (0.75, 8, 3), (1.0, 8, 4)],
)
def test_a_proportion_keeps_the_fastest_pairs_as_they_are_and_stills_the_rest(
    proportion, head_dim, turning
):
    kept = RoPE(head_dim=head_dim, proportion=proportion).frequencies
    assert kept[:turning] == RoPE(head_dim=head_dim).frequencies[:turning]
    assert kept[turning:] == (0.0,) * (head_dim // 2 - turning)
    spanned = RoPE(head_dim=head_dim, fraction=0.5).frequencies
    assert spanned[1:2] != kept[1:2], (
        "a fraction spreads the frequencies over the part that turns, a proportion does not"
    )


@pytest.mark.parametrize(
    "arguments",
    [LINEAR, NTK, YARN, LLAMA3, LONGROPE | dict(trained_length=2048)],
    ids=lambda a: a["scaling"],
)
def test_a_proportion_of_scaled_frequencies_is_scaled_as_without_it(arguments):
    whole, part = (RoPE(head_dim=8, proportion=p, **arguments) for p in (1.0, 0.5))
    assert part.frequencies == (*whole.frequencies[:2], 0.0, 0.0)
    assert part.far_frequencies == (*whole.far_frequencies[:2], 0.0, 0.0)
