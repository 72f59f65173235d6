"""RoPE rotates pairs of a query or key by the angle of their position."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.rope import RoPE
from tests import models, reference
from tests.encodings import codes
from tests.encodings.rope_scalings import LINEAR, LLAMA3, LONGROPE, NTK, YARN, rotated
from tests.marks import full

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
REFUSALS = [
    (dict(head_dim=3), "RoPE rotates pairs, so the head width must be even, got 3"),
    *(
        (dict(fraction=part), f"even number of channels, but {part} of the head width 8")
        for part in (0.1, 0.4, 1.5)
    ),
]


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
