"""A transformer has the stacks of its architecture, and its layers choose their encodings."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.runs.errors import UserError
from tests import models
from tests.marks import full
from tests.model.small_inputs import V, everywhere, keys, logits, reads, shape_of, source
from tests.models import ARCHITECTURES, build


@pytest.mark.full
def test_each_architecture_has_its_stacks_and_the_last_answers():
    assert [list(build(architecture=a).stacks) for a in ARCHITECTURES] == [
        ["decoder"],
        ["encoder"],
        ["encoder", "decoder"],
    ]
    both = build(architecture="encoder_decoder")
    assert both.answering is both.decoder
    assert (both.encoder.causal, both.decoder.causal) == (False, True)
    assert [[b.cross is not None for b in s.blocks] for s in both.stacks.values()] == [
        [False, False],
        [True, True],
    ]
    assert (
        both.encoder.embedding.num_embeddings,
        both.decoder.embedding.num_embeddings,
        logits(both).shape,
    ) == (9, V, (2, 6, V))


@pytest.mark.slow
def test_token_embeddings_have_unit_rms_when_scaled_and_less_when_not():
    tokens = jnp.arange(V)[None]

    def rms(scaled):
        x = build(width=64, scale_embeddings=scaled).decoder.embed(tokens, ())
        return float(jnp.sqrt(jnp.square(x).mean()))

    assert rms(True) == pytest.approx(1, rel=0.1)
    assert rms(False) == pytest.approx(rms(True) / 8)


@pytest.mark.slow
def test_token_embeddings_start_with_the_standard_deviation_that_is_set():
    default = build(width=64).decoder.embedding.embedding[...]
    chosen = build(width=64, embedding_std=0.02).decoder.embedding.embedding[...]
    np.testing.assert_allclose(chosen, default * (0.02 * 8), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_tied_output_reads_the_embedding_of_the_stack_that_answers(architecture):
    model = build(architecture=architecture, tied_output=True)
    before, table = logits(model), model.answering.embedding.embedding
    table[...] = table[...].at[V - 1].multiply(2)
    assert np.abs(logits(model)[..., V - 1] - before[..., V - 1]).max() > 1e-3
    assert model.output is None


@pytest.mark.full
@pytest.mark.parametrize("architecture", ["decoder", "encoder_decoder"])
def test_dropout_needs_its_key_and_is_off_without(architecture):
    model, without = (build("sinusoidal", architecture=architecture, dropout=d) for d in (0.5, 0.0))
    np.testing.assert_array_equal(logits(model), logits(without))
    one, again, other = (logits(model, dropout_keys=keys(k)) for k in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-2
    assert np.abs(one - logits(model)).max() > 1e-2
    np.testing.assert_array_equal(logits(without, dropout_keys=keys(0)), logits(without))


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["encoder", full("decoder")])
def test_dropout_acts_in_each_stack(stack):
    model = build("sinusoidal", architecture="encoder_decoder", dropout=0.5)
    other = model.stacks[{"encoder": "decoder", "decoder": "encoder"}[stack]]
    for holder in (other, *other.blocks):
        holder.dropout = 0.0
    one, another = (logits(model, dropout_keys=keys(k)) for k in (0, 1))
    assert np.abs(one - another).max() > 1e-2


def test_layers_choose_their_encodings():
    model = build(dict(name="rope", layers=(0,)), "t5_bias", "sinusoidal", num_layers=3).decoder
    assert models.indices(model.layer_sites) == ((0, 1), (1,), (1,))
    assert (len(model.attention_encodings), len(model.input_encodings)) == (2, 1)


def test_stacks_choose_their_encodings():
    """By default every input and every self-attention; cross-attention only where it is named."""
    learned, alibi = (
        dict(name="learned", stacks=("decoder",)),
        dict(name="alibi", stacks=("cross",), layers=(1,)),
    )
    model = build("sinusoidal", "rope", learned, alibi, architecture="encoder_decoder")
    found = [
        [type(e).__name__ for e in (*s.input_encodings, *s.attention_encodings)]
        for s in model.stacks.values()
    ]
    assert found == [["Sinusoidal", "RoPE"], ["Sinusoidal", "Learned", "RoPE", "ALiBi"]]
    assert (
        models.indices(model.encoder.layer_sites),
        models.indices(model.encoder.cross_sites),
    ) == (((0,), (0,)), ())
    assert (
        models.indices(model.decoder.layer_sites),
        models.indices(model.decoder.cross_sites),
    ) == (((0,), (0,)), ((), (1,)))


def test_stacks_have_parameters_of_their_own_and_sides_as_they_need():
    model = build(everywhere("t5_bias"), architecture="encoder_decoder")
    tables = [e.table[...] for e in model.attention_encodings]
    assert [e.two_sided for e in model.attention_encodings] == [
        True,
        False,
        True,
    ]  # encoder, decoder, across
    assert min(np.abs(tables[i] - tables[j]).max() for i, j in ((0, 1), (0, 2), (1, 2))) > 0.1


@pytest.mark.slow
def test_a_layer_without_encodings_is_a_nope_layer():
    out = [logits(build(dict(name="alibi", layers=layers))) for layers in (None, (0,), (1,))]
    assert min(np.abs(out[i] - out[j]).max() for i, j in ((0, 1), (0, 2), (1, 2))) > 1e-4


@pytest.mark.slow
def test_a_bias_shared_by_layers_is_computed_once(monkeypatch):
    calls, bucket = [], T5Bias.bucket
    monkeypatch.setattr(
        T5Bias, "bucket", lambda self, offsets: (calls.append(1), bucket(self, offsets))[1]
    )
    shape_of(build("t5_bias", num_layers=3, num_loops=2), reads())
    assert len(calls) == 1
    shape_of(build(everywhere("t5_bias"), architecture="encoder_decoder"), reads(), source())
    assert len(calls) == 1 + 3


@pytest.mark.slow
def test_positions_of_each_layer_reach_that_layer():
    model, plain = build("rope"), jnp.arange(6)[None, None]
    spread = jnp.concatenate([plain, 3 * plain])
    assert np.abs(logits(model, spread) - logits(model, plain)).max() > 1e-3
    np.testing.assert_array_equal(
        logits(model, jnp.concatenate([plain, plain])), logits(model, plain)
    )


@pytest.mark.slow
def test_the_last_layers_positions_are_the_last_rows():
    """Only layer 1 has an encoding, so that row 1 alone is read."""
    model, plain = build(dict(name="rope", layers=(1,))), jnp.arange(6)[None, None]
    np.testing.assert_array_equal(
        logits(model, jnp.concatenate([3 * plain, plain])), logits(model, plain)
    )


def test_two_layers_may_each_replace_the_mixing():
    shaw = dict(name="shaw", values=True)
    stack = build(dict(shaw, layers=(0,)), dict(shaw, layers=(1,))).decoder
    assert models.indices(stack.layer_sites) == ((0,), (1,))


@pytest.mark.parametrize(
    ("trait", "architecture", "message"),
    [
        (
            "causal",
            "decoder",
            "^alibi is not defined for causal attention, which the decoder uses.$",
        ),
        (
            "causal",
            "encoder_decoder",
            "^alibi is not defined for causal attention, which the decoder uses.$",
        ),
        (
            "bidirectional",
            "encoder",
            "^alibi is not defined for bidirectional attention, which the encoder uses.$",
        ),
        (
            "bidirectional",
            "encoder_decoder",
            "^alibi is not defined for bidirectional attention, which the encoder uses.$",
        ),
        (
            "cross",
            "encoder_decoder",
            "^alibi is not defined between two streams, so it cannot act in cross-attention.$",
        ),
    ],
)
def test_an_architecture_that_an_encoding_is_not_made_for_is_refused(
    monkeypatch, trait, architecture, message
):
    monkeypatch.setattr(
        ALiBi, "requirements", dataclasses.replace(ALiBi.requirements, **{trait: False})
    )
    with pytest.raises(UserError, match=message):
        build(everywhere("alibi", architecture), architecture=architecture)


@pytest.mark.parametrize(
    ("trait", "stack"), [("causal", "encoder"), ("bidirectional", "decoder"), ("cross", "encoder")]
)
def test_a_stack_that_it_is_made_for_is_not_refused(monkeypatch, trait, stack):
    monkeypatch.setattr(
        ALiBi, "requirements", dataclasses.replace(ALiBi.requirements, **{trait: False})
    )
    assert (
        len(
            build(
                dict(name="alibi", stacks=(stack,)), architecture="encoder_decoder"
            ).attention_encodings
        )
        == 1
    )


@pytest.mark.slow
def test_what_a_constructor_refuses_is_the_users_mistake():
    with pytest.raises(UserError, match="must be even, got 3"):
        build("rope", width=6)
    with pytest.raises(
        UserError, match="'causal' would favor the future in bidirectional attention"
    ):
        build(dict(name="alibi", form="causal"), architecture="encoder")
