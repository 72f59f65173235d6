"""What a token reads of the ones before it: equations, laws, and refusals."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings.ops import causal_convolution
from pe_lab.model.convolution import Before, Convolutions, Neighbors, Smear
from pe_lab.model.streams import view_of
from pe_lab.runs.errors import UserError
from tests import models, tiny
from tests.encodings import laws
from tests.marks import full_except

SITES = ("A", "B", "C", "D", "O", "F")
ALL = (
    ("convolution_sites", SITES),
    ("token_shift", "both"),
    ("key_offset", 0.5),
    ("embedding_smear", 4),
    ("activation", "swiglu"),
    ("qk_norm", True),
    ("num_layers", 1),
)
TOKENS = models.random_tokens(2, 7)
LAWS = (
    "packed_segments_equal_separate_ones",
    "padding_does_not_reach_valid_tokens",
    "future_does_not_leak",
    "one_token_is_enough",
    "prefill_equals_the_full_forward",
    "decoding_equals_the_full_forward",
    "cpu_kernels_equal_the_reference",
    "gradients_are_finite_and_reach_every_parameter",
    "shift_is_ignored_if_relative",
    "accelerator_kernels_equal_the_reference",
    "half_precision_keeps_positions_apart",
)


@functools.cache
def subject(*changes):
    return Subject(laws.spec("rope"), "decoder", (*ALL, *changes))


@pytest.mark.slow
@pytest.mark.parametrize("law", full_except(LAWS[:8], LAWS))
def test_a_law_holds_with_all_sites_shifts_offset_and_smear(law):
    laws.LAWS[law](subject())


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        (("num_loops", 2),),
        (("convolution_residual", False), ("convolution_width", 2)),
        (
            ("num_layers", 2),
            ("convolution_sites", ("K", "V")),
            ("convolution_layers", (1,)),
            ("key_offset_layers", (0,)),
            ("token_shift", "none"),
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "law", ["packed_segments_equal_separate_ones", "decoding_equals_the_full_forward"]
)
def test_a_law_holds_with_other_fields_too(changes, law):
    laws.LAWS[law](subject(*changes))


def convolved(kernel, x, preceding):
    """The equation, one token at a time, in float64."""
    out = np.zeros(x.shape)
    for b, t in np.ndindex(x.shape[:2]):
        for w in range(min(len(kernel), preceding[b, t] + 1)):
            out[b, t] += kernel[w] * x[b, t - w]
    return out


def test_a_convolution_worked_by_hand():
    """Kernel (1, 10, 100) over 1, 2, 3, 4, where an example begins at the third token."""
    x = jnp.asarray([1.0, 2, 3, 4])[None, :, None]
    kernel = jnp.asarray([1.0, 10, 100])[:, None]
    whole = causal_convolution(x, kernel, jnp.arange(4)[None])
    assert whole[0, :, 0].tolist() == [1, 12, 123, 234]
    parts = causal_convolution(x, kernel, jnp.asarray([[0, 1, 0, 1]]))
    assert parts[0, :, 0].tolist() == [1, 12, 3, 34]
    last = causal_convolution(x[:, 2:], kernel, jnp.asarray([[2, 3]]), x[:, :2])
    assert last[0, :, 0].tolist() == [123, 234]


def test_it_is_the_causal_convolution_of_jax():
    random = np.random.default_rng(0)
    x, kernel = random.normal(size=(2, 9, 5)), random.normal(size=(4, 5))
    theirs = jax.lax.conv_general_dilated(
        jnp.asarray(x, jnp.float32),
        jnp.asarray(kernel[::-1, None], jnp.float32),  # their weights end at the token itself
        window_strides=(1,),
        padding=[(3, 0)],
        dimension_numbers=("NWC", "WIO", "NWC"),
        feature_group_count=5,
    )
    ours = causal_convolution(
        jnp.asarray(x, jnp.float32), jnp.asarray(kernel, jnp.float32), jnp.arange(9)[None]
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(ours, convolved(kernel, x, np.tile(np.arange(9), (2, 1))), atol=1e-5)


def test_sites_q_k_and_v_are_site_b():
    """From one seed, with the same kernels and to the last bit."""
    whole, parts = (
        models.build("rope", convolution_sites=sites) for sites in (("B",), ("K", "Q", "V"))
    )
    models.assert_equal(models.params(whole), models.params(parts))
    models.assert_equal(*(models.run(m, models.stream(TOKENS)) for m in (whole, parts)))


def test_a_smear_starts_without_effect():
    plain, smeared = (models.build("rope", embedding_smear=n) for n in (0, 4))
    models.assert_equal(*(models.run(m, models.stream(TOKENS)) for m in (plain, smeared)))


def test_convolutions_and_offset_are_on_their_layers_alone():
    fields = dict(convolution_sites=("K", "O"), convolution_layers=(1,), num_layers=3)
    first, second, third = models.build(
        **fields, key_offset=0.5, key_offset_layers=(2,)
    ).decoder.blocks
    assert first.convolutions is None
    assert dict(second.convolutions.kept) == {"B_key": (3, 2, 8), "O": (3, 16)}
    assert dict(third.convolutions.kept) == {"offset": (1, 2, 4)}


def before(*segments):
    """The tokens before each one of a context of packed examples."""
    segments = jnp.asarray([segments])
    return Before(view_of(models.stream(segments, segments=segments)))


def test_an_offset_worked_by_hand():
    """Two examples of two tokens in a context: each first token keeps its key."""
    model = models.settings(width=4, num_heads=1, key_offset=0.5)
    k = jnp.arange(16.0).reshape(1, 4, 1, 4)
    offset = Neighbors(Convolutions(model, 0, rngs=nnx.Rngs(0)), before(1, 1, 2, 2)).offset(k)
    assert offset[0, :, 0].tolist() == [
        [0, 1, 2, 3],
        [4, 5, 2, 3],
        [8, 9, 10, 11],
        [12, 13, 10, 11],
    ]


def test_a_smear_worked_by_hand():
    """Factor 0.5 and gate ln 3 give 0.375 of the token before where the first channel is 1."""
    smear = Smear(models.settings(width=2, num_heads=1, embedding_smear=1))
    smear.gate[...] = jnp.log(3.0)[None]
    smear.factor[...] = jnp.asarray(0.5)
    x = jnp.asarray([[[0.0, 8], [1, 2], [1, 2]]])
    np.testing.assert_allclose(smear(x, before(1, 1, 2))[0], [[0, 8], [1, 5], [1, 2]], rtol=1e-6)


def without_borders(self, k):
    """The offset as modded-nanogpt has it: it reads across the borders of packed documents."""
    half = k.shape[-1] - self.convolutions.num_offset
    moved = jnp.concatenate([k[:, :1, :, half:], k[:, :-1, :, half:]], axis=1)
    return jnp.concatenate([k[..., :half], moved], axis=-1)


def test_an_offset_across_documents_fails_the_law_of_packed_examples(monkeypatch):
    law = laws.LAWS["packed_segments_equal_separate_ones"]
    fields = (("key_offset", 0.5), ("num_layers", 1))
    law(Subject(laws.spec("rope"), "decoder", fields))
    monkeypatch.setattr(Neighbors, "offset", without_borders)
    with pytest.raises(AssertionError, match="differ by"):
        law(Subject(laws.spec("rope"), "decoder", fields))


def block_and_parameters(**changes):
    model = models.settings(width=16, num_heads=2, **changes)
    convolutions = Convolutions(model, 0, rngs=nnx.Rngs(3))
    return convolutions, models.params(convolutions)


def test_kernels_start_as_in_pytorch():
    """Uniform within 1 / sqrt(4): a standard deviation of 0.2887, as demo_newmodel.py states."""
    _, p = block_and_parameters(convolution_sites=("D",), feedforward_width=4096)
    kernel = np.asarray(p["kernels"]["D"])
    assert kernel.shape == (4, 4096)
    assert np.abs(kernel).max() <= 0.5
    assert kernel.std() == pytest.approx(0.2887, abs=0.005)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(model__convolution_sites=("A", "A")), "name each site once"),
        (dict(model__convolution_sites=("K", "A")), r"in alphabetical order, got \('K', 'A'\)"),
        (
            dict(model__convolution_layers=(1,)),
            r"convolution_layers must be None without config\.model\.convolution_sites, got \(1,\)",
        ),
        (
            dict(model__key_offset_layers=(0,)),
            r"key_offset_layers must be None without config\.model\.key_offset, got \(0,\)",
        ),
        (dict(model__convolution_sites=("E",)), r"has no 'E'\. It has: A, B, C, D, F, K, O, Q, V"),
        (dict(model__convolution_sites=("B", "K")), "must name B or some of Q, K and V"),
        (dict(model__convolution_layers=(2,)), r"convolution_layers must be some of 0\.\.1, each"),
        (dict(model__key_offset_layers=()), r"key_offset_layers must be some of 0\.\.1, each"),
        (dict(model__key_offset=1.5), "key_offset must be .*at most 1, got 1.5"),
        (dict(model__key_offset=0.1), "key_offset must be a whole number of a head's 8 channels"),
        (dict(model__embedding_smear=17), "embedding_smear must be at most the width 16, got 17"),
        (dict(model__convolution_width=0), "convolution_width must be at least 1, got 0"),
        (dict(model__token_shift="key"), r"token_shift has no 'key'\. .*both, keys, none, values"),
        (
            dict(model__convolution_sites=("D",), model__feedforward_width=0),
            "sites C, D and F are in the feed-forward",
        ),
        (
            dict(model__embedding_smear=4, layout__name="encoder"),
            "embedding_smear reads earlier tokens",
        ),
        (
            dict(model__key_offset=0.5, layout__name="encoder_decoder"),
            "key_offset reads earlier tokens",
        ),
        (
            dict(model__convolution_sites=("A",), layout__name="encoder"),
            "convolution_sites reads earlier tokens, so config.layout.name must be 'decoder'",
        ),
        (
            dict(model__token_shift="keys", layout__name="encoder_decoder"),
            "token_shift reads earlier tokens",
        ),
        (
            dict(model__token_shift="keys", model__mixer="gru", model__encodings=()),
            "has no attention, so config.model.token_shift must be 'none'",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(UserError, match=message):
        tiny.config.from_dict(tiny.values(**changes))
