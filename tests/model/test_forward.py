"""Logits are those of the equations, for every architecture and every optional field."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.model.transformer import Transformer
from pe_lab.runs.settings.settings import STACKS
from tests import models
from tests.marks import full
from tests.model import equations
from tests.models import VOCABULARIES, moved, params, prefix, settings
from tests.options import PRO

# Apart by more than T5's exact buckets, a row for each example; beside the true lengths.
POSITIONS, LENGTHS = np.array([[0, 1, 2, 9, 30, 31, 60], [5, 6, 8, 9, 10, 0, 0]]), (7, 5)
OF_SOURCE, SOURCE_LENGTHS = np.array([[2, 3, 7, 0, 0, 0], [0, 1, 2, 20, 41, 50]]), (3, 6)


def assert_agrees(architecture, *more_encodings, **changes):
    """A padded batch against one example at a time, without padding."""
    stacks = STACKS[architecture]
    model = settings(
        "sinusoidal",
        dict(name="rope", stacks=stacks),
        dict(name="t5_bias", stacks=stacks),
        *more_encodings,
        **changes,
    )
    transformer = Transformer(model, VOCABULARIES[architecture], key=jax.random.key(0))
    graph, start = nnx.split(transformer)
    p = moved(nnx.to_pure_dict(start))
    read = models.stream(
        models.random_tokens(2, 7), jnp.asarray(POSITIONS)[None], prefix(LENGTHS, 7)
    )
    source = models.stream(
        models.random_tokens(2, 6, size=9, seed=8),
        jnp.asarray(OF_SOURCE)[None],
        prefix(SOURCE_LENGTHS, 6),
    )
    source = source if architecture == "encoder_decoder" else None
    found = jax.jit(
        lambda p, read, source: nnx.merge(graph, p)(models.by_stack(transformer, read, source))
    )(p, read, source)
    for i, n in enumerate(LENGTHS):
        of_example = [
            (np.asarray(s.tokens[i, :m]), positions[i, :m].tolist())
            for s, positions, m in ((read, POSITIONS, n), (source, OF_SOURCE, SOURCE_LENGTHS[i]))
            if s is not None
        ]
        expected = equations.logits(p, model, *of_example)
        assert np.abs(expected).max() > 1  # the tolerance says something
        np.testing.assert_allclose(found[i, :n], expected, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", models.ARCHITECTURES)
def test_pre_norm_layer_norm_gelu(architecture):
    assert_agrees(architecture)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", models.ARCHITECTURES)
def test_post_norm_rms_norm_swiglu(architecture):
    assert_agrees(architecture, norm_position="post", norm="rms", activation="swiglu")


@pytest.mark.slow
def test_norms_before_and_after_a_sublayer_with_geglu():
    assert_agrees("encoder_decoder", norm_position="both", norm="rms", activation="geglu")


@pytest.mark.slow
def test_a_model_without_a_feedforward():
    assert_agrees("decoder", feedforward_width=0)


@pytest.mark.slow
def test_pre_norm_rms_norm_relu_tied_without_scale():
    assert_agrees(
        "decoder", norm="rms", activation="relu", tied_output=True, scale_embeddings=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "value"),
    [
        full("qk_norm", True),
        ("scale_logits", False),
        ("shared_projections", "qk"),
        ("shared_projections", "qkv"),
        ("logit_temperature", "log_n"),
        ("logit_temperature", "ssmax"),
        ("norm_after_attention", True),
        ("sliding_window", 2),
        ("output_gate", "head"),
        ("output_gate", "element"),
        full("head_output_norm", True),
        ("learned_sinks", True),
        full("num_loops", 2),
        full("loop_injection", "linear"),
    ],
)
def test_each_optional_field_in_every_stack(field, value):
    assert_agrees("encoder_decoder", **{field: value})


@pytest.mark.slow
def test_all_optional_fields_at_once():
    assert_agrees(
        "decoder",
        qk_norm=True,
        scale_logits=False,
        logit_temperature="ssmax",
        norm_after_attention=True,
        sliding_window=3,
        num_loops=2,
        loop_injection="linear",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        *(dict(convolution_sites=(site,), qk_norm=True) for site in "ABC"),
        dict(convolution_sites=("D",)),
        dict(convolution_sites=("D",), activation="swiglu"),
        dict(convolution_sites=("A", "C"), convolution_width=2, convolution_residual=False),
        *(dict(token_shift=shift, qk_norm=True) for shift in ("keys", "values")),
        dict(convolution_sites=("K", "V", "O", "F"), norm_after_attention=True),
        dict(convolution_sites=("Q", "F"), convolution_layers=(1,), key_offset=0.25),
        dict(key_offset=0.5, key_offset_layers=(1,), qk_norm=True, embedding_smear=4),
        dict(token_shift="both", shared_projections="qkv"),
    ],
    ids=str,
)
def test_convolutions_and_shifts_of_a_decoder(changes):
    assert_agrees("decoder", **changes)


@pytest.mark.slow
def test_the_pro_block_of_the_forgetting_transformer():
    assert_agrees("decoder", "fox", **PRO)


@pytest.mark.slow
def test_all_options_of_current_models_at_once():
    """A norm of each head's output would remove what learned sinks do: they scale that output."""
    assert_agrees(
        "decoder",
        "fox",
        **PRO | dict(head_output_norm=False),
        convolution_sites=("A", "B", "C", "D", "O", "F"),
        key_offset=0.5,
        embedding_smear=3,
        activation="geglu",
        learned_sinks=True,
        logit_temperature="ssmax",
        scale_logits=False,
        norm_after_attention=True,
        sliding_window=3,
        num_loops=2,
        loop_injection="linear",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "injection"),
    [("decoder", "add"), full("encoder_decoder", "add"), full("encoder_decoder", "linear")],
)
def test_every_loop_reads_the_embedding_again(architecture, injection):
    assert_agrees(architecture, num_loops=3, loop_injection=injection)


def size(architecture, **changes):
    model = models.build(architecture=architecture, feedforward_width=24, **changes)
    return sum(p.size for p in jax.tree.leaves(params(model)))


D, F, H, DH, LAYERS = 16, 24, 2, 8, 2
ATTENTION, FEEDFORWARD, NORM = 4 * D * D, D * F + F + F * D + D, 2 * D
BLOCK = ATTENTION + FEEDFORWARD + 2 * NORM
CROSS = ATTENTION + NORM
BY_HAND = {
    "decoder": 11 * D + LAYERS * BLOCK + NORM + D * 11,
    "encoder": 11 * D + LAYERS * BLOCK + NORM + D * 11,
    "encoder_decoder": (9 + 11) * D + 2 * LAYERS * BLOCK + 2 * NORM + LAYERS * CROSS + D * 11,
}


@pytest.mark.parametrize("architecture", models.ARCHITECTURES)
def test_parameters_by_hand(architecture):
    assert size(architecture) == BY_HAND[architecture]


def test_without_a_feedforward_its_norm_and_matrices_are_gone():
    model = models.build(architecture="decoder", feedforward_width=0)
    found = sum(p.size for p in jax.tree.leaves(params(model)))
    assert found == BY_HAND["decoder"] - LAYERS * (FEEDFORWARD + NORM)


@pytest.mark.parametrize(
    ("changes", "of_decoder", "of_both"),
    [
        (dict(qk_norm=True), LAYERS * 2 * DH, 3 * LAYERS * 2 * DH),
        (dict(scale_logits=False), 0, 0),
        (dict(shared_projections="qk"), -LAYERS * D * D, -3 * LAYERS * D * D),
        (dict(shared_projections="qkv"), -2 * LAYERS * D * D, -6 * LAYERS * D * D),
        (dict(logit_temperature="log_n"), 0, 0),
        (dict(logit_temperature="ssmax"), LAYERS * H, 3 * LAYERS * H),
        (dict(norm_after_attention=True), LAYERS * NORM, 3 * LAYERS * NORM),
        (dict(sliding_window=3), 0, 0),
        (dict(output_gate="head"), LAYERS * D * H, 3 * LAYERS * D * H),
        (dict(output_gate="element"), LAYERS * D * D, 3 * LAYERS * D * D),
        (dict(head_output_norm=True), LAYERS * DH, 3 * LAYERS * DH),
        (dict(learned_sinks=True), LAYERS * H, 3 * LAYERS * H),
        (dict(num_loops=3), 0, 0),
        (dict(num_loops=3, loop_injection="add"), 0, 0),
        (dict(num_loops=3, loop_injection="linear"), 2 * D * D, 2 * 2 * D * D),
        (dict(compute_dtype="bfloat16"), 0, 0),
        (dict(activation="swiglu"), LAYERS * (D * F + F), 2 * LAYERS * (D * F + F)),
        (dict(activation="geglu"), LAYERS * (D * F + F), 2 * LAYERS * (D * F + F)),
        (dict(tied_output=True), -D * 11, -D * 11),
        (dict(norm="rms"), -(2 * LAYERS + 1) * D, -(5 * LAYERS + 2) * D),
        (dict(norm_position="post"), -NORM, -2 * NORM),
        (dict(norm_position="both"), LAYERS * 2 * NORM, 5 * LAYERS * NORM),
    ],
    ids=str,
)
def test_parameters_that_a_field_adds(changes, of_decoder, of_both):
    assert size("decoder", **changes) - BY_HAND["decoder"] == of_decoder
    assert size("encoder_decoder", **changes) - BY_HAND["encoder_decoder"] == of_both
