"""Gates, norms and learned sinks: equations, limits where nothing changes, and laws with them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab import kernels
from pe_lab.model.attention import Attention
from pe_lab.model.terms import attention_terms
from pe_lab.runs.errors import UserError
from tests import models, tiny
from tests.encodings import laws
from tests.encodings.subjects import Subject
from tests.marks import full_except
from tests.options import PRO

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


def layer(**changes):
    """An attention layer without encodings with 5 tokens of two examples, and its parameters."""
    model = models.settings(width=16, num_heads=2, **changes)
    attention = Attention(model, kernels=kernels.REFERENCE, rngs=nnx.Rngs(params=0, additions=1))
    x = jax.random.normal(jax.random.key(2), (2, 5, 16))
    valid = jnp.ones((2, 5), bool)
    terms = attention_terms((), jnp.tril(valid[:, :, None] & valid[:, None])[:, None])
    p = jax.tree.map(lambda leaf: np.asarray(leaf, float), models.params(attention))
    return (
        attention,
        np.asarray(x, float),
        p,
        attention(x, valid, attention.keys(x, valid, terms), terms),
    )


def equation(x, p, sinks=(-np.inf, -np.inf), gate=None, scale=None):
    """Causal attention as gpt-oss and Qwen3-Next write it, in float64."""
    heads = [(x @ p[name]["kernel"]).reshape(2, 5, 2, 8) for name in ("query", "key", "value")]
    q, k, v = (np.moveaxis(a, 2, 1) for a in heads)
    s = q @ np.swapaxes(k, 2, 3) / np.sqrt(8)
    s = np.where(np.tril(np.ones((5, 5), bool)), s, -np.inf)
    column = np.broadcast_to(np.asarray(sinks, float)[None, :, None, None], (2, 2, 5, 1))
    s = np.concatenate([s, column], axis=-1)
    w = np.exp(s - s.max(axis=-1, keepdims=True))
    w = (w / w.sum(axis=-1, keepdims=True))[..., :-1]
    out = np.moveaxis(w @ v, 1, 2)
    if scale is not None:
        out = out / np.sqrt((out**2).mean(axis=-1, keepdims=True) + 1e-6) * scale
    if gate is not None:
        out = out / (1 + np.exp(-(x @ gate).reshape(2, 5, 2, -1)))
    return out.reshape(2, 5, 16) @ p["out"]["kernel"]


def test_a_gate_multiplies_each_channel_before_the_output_matrix():
    _, x, p, found = layer(output_gate="element")
    assert p["gate"]["projection"]["kernel"].shape == (16, 16)
    expected = equation(x, p, gate=p["gate"]["projection"]["kernel"])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_gate_of_a_head_multiplies_all_its_channels():
    _, x, p, found = layer(output_gate="head")
    assert p["gate"]["projection"]["kernel"].shape == (16, 2)
    expected = equation(x, p, gate=p["gate"]["projection"]["kernel"])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_norm_comes_before_the_gate():
    """group_norm_gated_ref of the Forgetting Transformer with RMS norms."""
    _, x, p, found = layer(output_gate="element", head_output_norm=True)
    gate = p["gate"]
    expected = equation(x, p, gate=gate["projection"]["kernel"], scale=gate["norm"]["scale"])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_sink_takes_a_part_of_the_weight():
    """At its start, 0, the denominator of softmax has 1 more; afterwards exp(b) of the head."""
    _, x, p, found = layer(learned_sinks=True)
    np.testing.assert_array_equal(p["sinks"], [0, 0])
    np.testing.assert_allclose(found, equation(x, p, sinks=(0, 0)), atol=1e-5)
    attention, x, p, _ = layer(learned_sinks=True)
    attention.sinks[...] = jnp.asarray([1.5, -2.0])
    inputs, valid = jnp.asarray(x, jnp.float32), jnp.ones((2, 5), bool)
    terms = attention_terms((), jnp.tril(jnp.ones((1, 1, 5, 5), bool)))
    moved = attention(inputs, valid, attention.keys(inputs, valid, terms), terms)
    np.testing.assert_allclose(moved, equation(x, p, sinks=(1.5, -2)), atol=1e-5)


@pytest.mark.parametrize("platform", ["reference", "cpu", "cuda"])
def test_a_sink_at_minus_infinity_and_a_gate_at_one_are_the_model_without(platform):
    form = kernels.REFERENCE
    if platform != "reference":
        form = kernels.choose("auto", platform)
    bare = models.build("rope", "t5_bias", kernels=form)
    whole = models.build("rope", "t5_bias", kernels=form, output_gate="head", learned_sinks=True)
    for block in whole.decoder.blocks:
        block.attention.sinks[...] = jnp.full(2, -jnp.inf)
        block.attention.gate.projection = _infinity
    stream = models.stream(models.random_tokens(2, 7), mask=models.prefix([7, 5], 7))
    mask = np.asarray(stream.mask)
    with_them, without = (np.asarray(m(models.by_stack(m, stream))) for m in (whole, bare))
    np.testing.assert_allclose(with_them[mask], without[mask], atol=1e-6)


def _infinity(inputs):
    """A gate's logits for which its sigmoid is 1."""
    return jnp.full((*inputs.shape[:2], 2), jnp.inf)


def test_the_other_parameters_are_those_of_the_model_without():
    without = models.params(models.build("rope"))
    rest = models.params(models.build("rope", **dict(ALL)))
    for _, block in rest["decoder"]["blocks"].items():
        del block["attention"]["gate"], block["attention"]["sinks"]
    jax.tree.map(np.testing.assert_array_equal, without, rest)


def test_the_pro_block_of_the_forgetting_transformer():
    """FoX, shifts, norms of queries, keys and outputs, and a gate: all parameters get gradients."""
    one = Subject((dict(name="fox"),), "decoder", (*PRO.items(), ("num_layers", 1)))
    for law in (
        "gradients_are_finite_and_reach_every_parameter",
        "decoding_equals_the_full_forward",
    ):
        laws.LAWS[law](one)


def test_a_run_without_them_keeps_its_id():
    identity = tiny.run("rope").identity()
    assert not {"output_gate", "head_output_norm", "learned_sinks"} & identity["model"].keys()


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
