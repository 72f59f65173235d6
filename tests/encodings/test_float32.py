"""Encodings compute in float32 in a program of a user that has jax_enable_x64 as well."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab import kernels
from pe_lab.contrib.laws.subjects import Subject, default_source, default_tokens
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.requirements import Requirements
from pe_lab.runs.plugins import plugins
from tests import members, models
from tests.encodings import laws
from tests.marks import full

KERNELS = (kernels.REFERENCE, kernels.choose("auto", "cpu"))
FORMS = (
    {"name": "alibi", "learn_slopes": True},
    {"name": "fox", "gate": "bias_only"},
    {"name": "sinusoidal", "learn_scale": True},
    {"name": "stick_breaking", "remainder": True},
)
OPTIONS = ({"logit_temperature": "ssmax"}, {"learned_sinks": True}, {"output_gate": "head"})


def float64_arrays(spec, architecture="decoder", **changes):
    """The float64 arrays among parameters and in the programs of logits and gradients."""
    tokens, source_tokens = default_tokens(), default_source()  # cached: other tests read them
    with jax.enable_x64(True):
        subject = Subject(spec, architecture, (("num_layers", 1), *changes.items()))
        params = models.params(subject.start)
        read, source = subject.stream(tokens), subject.source(source_tokens)
        found = {str(leaf.dtype) for leaf in jax.tree.leaves(params)} - {"float32"}
        for kind in KERNELS:
            call = subject.call_with(kind)
            found.add(str(jax.eval_shape(call, params, read, source).dtype))
            gradient = jax.grad(lambda p, call=call: call(p, read, source).sum())
            program = str(jax.make_jaxpr(gradient)(params))
            found |= set(re.findall(r"f64\[\d[^\]]*\]", program))
    return found - {"float32"}


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["decoder", full("encoder_decoder")])
@pytest.mark.parametrize("name", plugins.names("encodings"))
def test_no_encoding_has_a_float64_array(name, architecture):
    if name not in laws.names(architecture):
        pytest.skip("it is not defined there")
    assert not float64_arrays(laws.spec(name), architecture)


@pytest.mark.slow
@pytest.mark.parametrize("spec", FORMS, ids=lambda spec: spec["name"])
def test_no_form_of_an_encoding_has_one(spec):
    assert not float64_arrays(spec)


@pytest.mark.slow
@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_no_option_of_a_model_has_one(changes):
    assert not float64_arrays({"name": "rope"}, **changes)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("name", ["cape", "normalized", "random_floats"])
def test_real_positions_are_float32(name, train):
    more = {"normalize": True} if name == "cape" else {}
    spec = members.spec("positions", name, **more)
    with jax.enable_x64(True):
        scheme = plugins.build("positions", plugins.resolve("positions", spec), num_layers=1)
        keys = jax.random.split(jax.random.key(0), 1)
        drawn = scheme(keys, jnp.ones((1, 5), bool), train=train)
    assert drawn.dtype == jnp.float32


class Wide(AttentionEncoding):
    """An array without a dtype."""

    requirements = Requirements(relative=True)

    def __init__(self):
        pass

    def bias(self, Q, K):
        distance = Q.positions[:, :, None] - K.positions[:, None]
        return (distance[:, None] * jnp.asarray(np.full((1, 1, 1, 1), 0.5))).astype(jnp.float32)


def test_an_array_without_a_dtype_is_found():
    assert "f64[1,1,7,7]" in float64_arrays({"name": f"{__name__}:Wide"})
