"""The recurrent reference obeys the laws of an architecture without positions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.run import RunGroup
from pe_lab.training.costs import forward_flops
from pe_lab.training.loop import Preempted, train_run_group
from tests import models, tiny
from tests.encodings import laws

LAWS = (
    "shape_is_kept_and_finite",
    "one_token_is_enough",
    "positions_are_read_not_indices",  # none are read: other positions change no digit
    "order_is_seen",
    "future_does_not_leak",
    "padding_does_not_reach_valid_tokens",
    "prefill_equals_the_full_forward",
    "decoding_equals_the_full_forward",
    "cpu_kernels_equal_the_reference",
    "one_seed_gives_one_backbone",
    "gradients_are_finite_and_reach_every_parameter",
)
RECURRENT = {"model__mixer": "lstm", "model__encodings": ()}


@functools.cache
def subject(mixer):
    return Subject((), "decoder", (("mixer", mixer),))


@pytest.mark.parametrize("mixer", ["lstm", "gru"])
@pytest.mark.parametrize("law", LAWS)
def test_law_holds(law, mixer):
    laws.LAWS[law](subject(mixer))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(p, inputs):
    """The equations of Flax's cell, one example, in float64."""
    p = jax.tree.map(lambda leaf: np.asarray(leaf, float), p)
    h = c = np.zeros(inputs.shape[1])
    states = []
    for x in inputs:
        gates = x @ p["dense_i"]["kernel"] + h @ p["dense_h"]["kernel"] + p["dense_h"]["bias"]
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.stack(states)


def gru(p, inputs):
    p = jax.tree.map(lambda leaf: np.asarray(leaf, float), p)
    h = np.zeros(inputs.shape[1])
    states = []
    for x in inputs:
        of_x = np.split(x @ p["dense_i"]["kernel"] + p["dense_i"]["bias"], 3)
        of_h = np.split(h @ p["dense_h"]["kernel"], 3)
        r, z = sigmoid(of_x[0] + of_h[0]), sigmoid(of_x[1] + of_h[1])
        h = (1 - z) * np.tanh(of_x[2] + r * of_h[2]) + z * h
        states.append(h)
    return np.stack(states)


@pytest.mark.parametrize(("mixer", "equations"), [("lstm", lstm), ("gru", gru)])
def test_states_are_those_of_the_equations(mixer, equations):
    """The layer alone: each token gets the state after itself, and padding gets zeros."""
    decoder = subject(mixer).start.decoder
    layer = decoder.blocks[0].attention
    x = jax.random.normal(jax.random.key(1), (2, 5, 16))
    mask = models.prefix([5, 3], 5)
    terms = decoder.position_terms(models.stream(jnp.zeros((2, 5), int), mask=mask)).attention[0]
    out = np.asarray(layer(x, mask, layer.keys(x, mask, terms), terms))
    p = models.params(layer)["cell"]
    np.testing.assert_allclose(out[0], equations(p, np.asarray(x[0], float)), atol=1e-6)
    np.testing.assert_allclose(out[1, :3], equations(p, np.asarray(x[1, :3], float)), atol=1e-6)
    assert (out[1, 3:] == 0).all()


@pytest.mark.parametrize(("mixer", "gates"), [("lstm", 4), ("gru", 3)])
def test_flops_by_hand(mixer, gates):
    """A product of the input and one of the state for each gate."""
    model = models.settings(width=8, num_layers=3, feedforward_width=0, mixer=mixer)
    found = forward_flops(model, {"decoder": 11}, {"decoder": 10})
    assert found == 2 * (3 * 10 * gates * 2 * 8 * 8 + 10 * 8 * 11)


@pytest.mark.slow
def test_a_training_that_was_interrupted_ends_bit_equal(tmp_path):
    group = RunGroup((tiny.config.from_dict(tiny.values(**RECURRENT)),))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    (expected,) = tiny.train(whole, group).values()
    with pytest.raises(Preempted):
        train_run_group(group, parts, should_leave=lambda: True)
    train_run_group(group, parts)
    (found,) = records.read_all(parts).values()
    assert found["curve"] == expected["curve"]
    assert found["rows"] == expected["rows"]
    assert found["exposure"]["reveals_target_length"] is False


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(model__encodings=({"name": "rope"},)), "'lstm' takes no encodings"),
        (dict(layout__name="encoder"), "config.layout.name must be 'decoder', got 'encoder'"),
        (dict(layout__examples_per_context=2), "examples_per_context must be 1 with a document"),
        (dict(model__qk_norm=True), "config.model.qk_norm must be False, got True"),
        (dict(model__sliding_window=3), "config.model.sliding_window must be None, got 3"),
        (dict(model__scale_logits=False), "config.model.scale_logits must be True, got False"),
    ],
)
def test_settings_of_attention_are_refused(changes, message):
    values = tiny.values(**{**RECURRENT, **changes})
    with pytest.raises(UserError, match=message):
        tiny.config.from_dict(values)
