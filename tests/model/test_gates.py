"""Gates, norms and learned sinks: equations, limits where nothing changes, and laws with them."""

import functools

import pytest

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.runs.errors import UserError
from tests import tiny
from tests.encodings import laws
from tests.marks import full_except

ALL = (("output_gate", "element"), ("head_output_norm", True), ("learned_sinks", True))
LAWS = (
    "padding_does_not_reach_valid_tokens",
    "packed_segments_equal_separate_ones",
    "future_does_not_leak",
    "one_token_is_enough",
    "decoding_equals_the_full_forward",
    "cpu_kernels_equal_the_reference",
    "accelerator_kernels_equal_the_reference",
    "gradients_are_finite_and_reach_every_parameter",
    "shift_is_ignored_if_relative",
    "half_precision_keeps_positions_apart",
)


@functools.cache
def subject(architecture, *names):
    encodings = tuple(laws.spec(name) for name in names)
    return Subject(encodings, architecture, (*ALL, ("num_layers", 1)))


@pytest.mark.parametrize("law", full_except(LAWS[:8], LAWS))
def test_a_law_holds_with_gate_norm_and_sinks(law):
    laws.LAWS[law](subject("decoder", "rope", "t5_bias"))


@pytest.mark.parametrize(
    "law", ["cpu_kernels_equal_the_reference", "decoding_equals_the_full_forward"]
)
def test_a_law_holds_where_an_encoding_replaces_logits_and_values(law):
    laws.LAWS[law](subject("decoder", "cope", "shaw"))


@pytest.mark.full
@pytest.mark.parametrize("architecture", ["encoder", "encoder_decoder"])
@pytest.mark.parametrize("law", LAWS)
def test_a_law_holds_in_other_architectures(law, architecture):
    if law in laws.laws_of(architecture):
        laws.LAWS[law](subject(architecture, "rope", "t5_bias"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            dict(model__output_gate="channel"),
            r"output_gate has no 'channel'\. .*element, head, none",
        ),
        (
            dict(model__learned_sinks=True, model__mixer="gru", model__encodings=()),
            "config.model.learned_sinks must be False, got True",
        ),
        (
            dict(model__learned_sinks=True, model__encodings=(dict(name="stick_breaking"),)),
            r"^stick_breaking has its own form of softmax, so config\.model\.learned_sinks must ",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(UserError, match=message):
        tiny.config.from_dict(tiny.values(**changes))
