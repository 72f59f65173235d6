import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.errors import UserError
from pe_lab.transformer.transformer import Transformer, forward_flops
from tests import tiny

V = 11


def build(*encodings, seed=0, **changes):
    return Transformer(tiny.run(*encodings, **changes).model, V, key=jax.random.key(seed))


def logits(model, dropout_key=None, rows=1):
    tokens = jax.random.randint(jax.random.key(1), (2, 6), 0, V)
    positions = jnp.broadcast_to(jnp.arange(6)[None, None], (rows, 1, 6))
    return np.asarray(model(tokens, positions, jnp.ones((2, 6), bool), dropout_key=dropout_key))


def size(model):
    return sum(p.size for p in jax.tree.leaves(nnx.state(model, nnx.Param)))


@pytest.mark.parametrize("position", ["pre", "post"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_every_choice_gives_other_finite_logits(activation, norm, position):
    model = build(model__activation=activation, model__norm=norm, model__norm_position=position)
    out = logits(model)
    assert np.isfinite(out).all()
    assert np.abs(out - logits(build())).max() > 1e-3 or (activation, norm, position) == ("gelu", "layer", "pre")


def test_parameters_by_hand():
    d, f, layers = 16, 16, 2
    block = 4 * d * d + (d * f + f) + (f * d + d) + 2 * 2 * d
    assert size(build()) == V * d + layers * block + 2 * d + d * V
    assert size(build(model__tied_output=True)) == V * d + layers * block + 2 * d
    assert size(build(model__activation="swiglu")) == size(build()) + layers * (d * f + f)
    assert size(build(model__norm="rms")) == size(build()) - (2 * layers + 1) * d
    assert size(build(model__norm_position="post")) == size(build()) - 2 * d


def test_token_embeddings_have_unit_rms_when_scaled_and_less_when_not():
    tokens, nowhere = jnp.arange(V)[None], jnp.zeros((1, V), int)
    rms = [
        float(jnp.sqrt(jnp.square(build("nope", model__width=64, model__scale_embeddings=s).embed(tokens, nowhere)).mean()))
        for s in (True, False)
    ]
    assert rms[0] == pytest.approx(1, rel=0.1)
    assert rms[1] == pytest.approx(rms[0] / 8)


def test_tied_output_reads_the_embedding():
    model = build(model__tied_output=True)
    before = logits(model)
    model.embedding.embedding[...] = model.embedding.embedding[...].at[V - 1].multiply(2)
    assert np.abs(logits(model)[..., V - 1] - before[..., V - 1]).max() > 1e-3
    assert model.output is None


def test_dropout_needs_its_key_and_is_off_without():
    model = build(model__dropout=0.5)
    np.testing.assert_array_equal(logits(model), logits(model))
    one, again, other = (logits(model, jax.random.key(k)) for k in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-2
    assert np.abs(one - logits(model)).max() > 1e-2


def test_layers_choose_their_encodings():
    model = build(dict(name="rope", layers=(0,)), "t5_bias", "sinusoidal", model__num_layers=3)
    assert model.layer_encodings == ((0, 1), (1,), (1,))
    assert (len(model.attention_encodings), len(model.input_encodings)) == (2, 1)


def test_a_layer_without_encodings_is_a_nope_layer():
    both, first = build("alibi"), build(dict(name="alibi", layers=(0,)))
    second = build(dict(name="alibi", layers=(1,)))
    out = [logits(m) for m in (both, first, second)]
    assert min(np.abs(out[i] - out[j]).max() for i, j in ((0, 1), (0, 2), (1, 2))) > 1e-4


def test_a_bias_shared_by_layers_is_computed_once(monkeypatch):
    from pe_lab.encodings.t5_bias import T5Bias

    calls, bucket = [], T5Bias.bucket
    monkeypatch.setattr(T5Bias, "bucket", lambda self, offsets: (calls.append(1), bucket(self, offsets))[1])
    logits(build("t5_bias", model__num_layers=3))
    assert len(calls) == 1


def test_positions_of_each_layer_reach_that_layer():
    model = build("rope")
    tokens, mask = jax.random.randint(jax.random.key(1), (2, 6), 0, V), jnp.ones((2, 6), bool)
    plain = jnp.arange(6)[None, None]
    spread = jnp.concatenate([plain, 3 * plain])
    assert np.abs(model(tokens, spread, mask) - model(tokens, plain, mask)).max() > 1e-3
    np.testing.assert_array_equal(model(tokens, jnp.concatenate([plain, plain]), mask), model(tokens, plain, mask))


def test_two_replacements_of_the_mixing_on_one_layer_are_refused():
    shaw = dict(name="shaw", values=True)
    with pytest.raises(UserError, match="Shaw and Shaw cannot act on one layer: each replaces mix"):
        build(shaw, shaw)
    assert build(dict(shaw, layers=(0,)), dict(shaw, layers=(1,))).layer_encodings == ((0,), (1,))


def test_what_is_not_causal_is_refused(monkeypatch):
    from pe_lab.encodings.alibi import ALiBi

    monkeypatch.setattr(ALiBi, "causal", False)
    with pytest.raises(UserError, match="alibi is not defined for causal attention"):
        build("alibi")


def test_odd_head_width_is_the_users_mistake():
    with pytest.raises(UserError, match="must be even, got 3"):
        build("rope", model__width=6)


def test_an_encodings_draws_do_not_move_another_encodings():
    alone, after = build("t5_bias"), build("learned", "t5_bias")
    assert np.abs(alone.attention_encodings[0].table[...] - after.attention_encodings[0].table[...]).max() > 0  # its place is its stream
    np.testing.assert_array_equal(alone.blocks[1].attention.out.kernel[...], after.blocks[1].attention.out.kernel[...])


def test_flops_by_hand():
    model = dataclasses.replace(tiny.run().model, num_layers=1, width=8, feedforward_width=32)
    length, d, f = 10, 8, 32
    projections, feedforward, scores, output = 4 * d * d, 2 * d * f, 2 * length * d, d * V
    assert forward_flops(model, V, length) == 2 * length * (projections + feedforward + scores + output)
