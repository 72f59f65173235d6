"""Short convolutions and the shift: equations, laws with them, and what costs nothing without."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.ops import causal_convolution
from pe_lab.model.convolution import Convolutions
from pe_lab.runs.errors import UserError
from tests import models, tiny
from tests.encodings import laws
from tests.encodings.subjects import Subject
from tests.marks import full_except

SITES = ("A", "B", "C", "D")
ALL = (
    ("convolution_sites", SITES),
    ("token_shift", "both"),
    ("activation", "swiglu"),
    ("qk_norm", True),
    ("num_layers", 1),
)
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


@pytest.mark.parametrize("law", full_except(LAWS[:8], LAWS))
def test_a_law_holds_with_all_sites_and_both_shifts(law):
    laws.LAWS[law](subject())


@pytest.mark.parametrize(
    "changes",
    [
        (("num_loops", 2),),
        (("convolution_residual", False), ("convolution_width", 2)),
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


def block_and_parameters(**changes):
    model = models.settings(width=16, num_heads=2, **changes)
    convolutions = Convolutions(model, rngs=nnx.Rngs(3))
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
        (dict(model__convolution_sites=("E",)), r"has no 'E'\. It has: A, B, C, D"),
        (dict(model__convolution_width=0), "convolution_width must be at least 1, got 0"),
        (dict(model__token_shift="key"), r"token_shift has no 'key'\. .*both, keys, none, values"),
        (
            dict(model__convolution_sites=("D",), model__feedforward_width=0),
            "sites C and D are in the feed-forward",
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
