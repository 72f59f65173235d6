import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.inspection.trained.activations import record_activations
from tests import models
from tests.marks import full

pytestmark = pytest.mark.slow

TOKENS = models.random_tokens(2, 6, size=9)
MASK = models.prefix([6, 4], 6)


def streams(architecture):
    source = models.stream(
        models.random_tokens(2, 5, size=9, seed=3), mask=models.prefix([5, 3], 5)
    )
    return models.stream(TOKENS, mask=MASK), source if architecture == "encoder_decoder" else None


@functools.cache
def run(*encodings, architecture="decoder", **changes):
    """The model, its logits, and those with a recording."""
    model = models.build(*encodings, architecture=architecture, **changes)
    read = streams(architecture)
    graph, params = nnx.split(model)
    logits, seen = jax.jit(
        lambda params, *read: record_activations(
            nnx.merge(graph, params), models.by_stack(model, *read)
        )
    )(params, *read)
    return model, models.run(model, *read), np.asarray(logits), seen


@pytest.mark.parametrize(
    ("architecture", "encodings", "changes"),
    [
        full("decoder", ("sinusoidal", "rope", "t5_bias"), {"num_loops": 2}),
        full("encoder", ("alibi",), {"norm_position": "post"}),
        full("encoder_decoder", ("rope",), {}),
        ("decoder", ("stick_breaking", "rotary_value"), {}),
    ],
)
def test_recording_changes_no_logits(architecture, encodings, changes):
    model, plain, logits, seen = run(*encodings, architecture=architecture, **changes)
    np.testing.assert_allclose(logits[MASK], plain[MASK], atol=1e-5)
    applied = 2 * changes.get("num_loops", 1)
    assert {name: len(states) for name, states in seen.hidden.items()} == dict.fromkeys(
        model.stacks, 1 + applied
    )
    names = {*model.stacks, *(["cross"] if architecture == "encoder_decoder" else [])}
    assert {name: len(layers) for name, layers in seen.attention.items()} == dict.fromkeys(
        names, applied
    )


@pytest.mark.full
def test_the_last_hidden_states_are_those_that_become_logits():
    model, _, logits, seen = run("rope", architecture="encoder_decoder")
    last = model.logits(model.decoder.norm(seen.hidden["decoder"][-1]))
    np.testing.assert_allclose(np.asarray(last)[MASK], logits[MASK], atol=1e-5)
    np.testing.assert_allclose(
        seen.hidden["decoder"][0], model.decoder.embed(TOKENS, ()), atol=1e-6
    )


@pytest.mark.full
def test_weights_are_the_softmax_of_queries_and_keys_that_see_each_other():
    """Of a model without positions: nothing else is in the logits."""
    _, _, _, seen = run(architecture="encoder_decoder")
    for layer in (*seen.attention["decoder"], *seen.attention["cross"]):
        s = np.einsum("blhe,bshe->bhls", layer.q, layer.k) / np.sqrt(layer.q.shape[-1])
        e = np.where(layer.mask, np.exp(s), 0)
        expected = e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-30)
        np.testing.assert_allclose(layer.weights, expected, atol=1e-5)
    assert not layer.mask[1, 0, :, 3:].any()  # the source's padding


def test_weights_are_those_of_an_encoding_that_replaces_the_softmax():
    model, _, _, seen = run("stick_breaking", "rotary_value")
    terms = model.position_terms({"decoder": streams("decoder")[0]})["decoder"]
    for layer, own_terms in zip(seen.attention["decoder"], terms.attention, strict=True):
        sticks, rotation = own_terms.encodings
        q, k = rotation.encoding.transform_qk(layer.q, layer.k, rotation.Q, rotation.K)
        s = jnp.einsum("blhe,bshe->bhls", q, k) / np.sqrt(q.shape[-1])
        np.testing.assert_allclose(
            layer.weights, sticks.encoding.normalize(s, layer.mask), atol=1e-5
        )
        assert not np.diagonal(
            layer.weights, axis1=2, axis2=3
        ).any()  # a softmax would see the token itself
