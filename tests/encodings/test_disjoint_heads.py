"""Two encodings on disjoint heads of one layer: each acts as it does alone, in both orders."""

import functools
import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings.base import Tokens
from pe_lab.kernels import REFERENCE, choose
from pe_lab.model import attention
from pe_lab.model.terms import LayerEncoding, attention_terms
from tests.encodings import laws
from tests.encodings.test_properties import HEADS, LENGTH, NAMES, SLOTS, built, inputs
from tests.marks import full
from tests.models import assert_close

QUICK = [
    ("pope", "pope"),
    ("pope", "xpos"),
    ("pope", "transformer_xl"),
    ("xpos", "pope"),
    ("hard_alibi", "cope"),
    ("selective_rope", "deberta"),
]
EVERY = itertools.product(NAMES, repeat=2)
PAIRS = [pair if pair in QUICK else full(*pair) for pair in EVERY]
READS_ALL_HEADS = ("dape",)  # its network: what it adds depends on the encodings of other heads
KERNELS = {"reference": REFERENCE, "cpu": choose("auto", "cpu")}


def on_heads(name, heads):
    """The encoding on some heads (None: all), with the features of its tokens."""
    encoding = built(name)
    x = inputs()[0]
    axes = encoding.requirements.num_axes
    positions = SLOTS if axes == 1 else jnp.stack([SLOTS] * axes, axis=-1)
    lengths = jnp.asarray([LENGTH])
    of_queries, of_keys = encoding.features(x, positions)
    Q = Tokens(positions, SLOTS, lengths, of_queries)
    K = Tokens(positions, SLOTS, lengths, of_keys)
    return LayerEncoding(encoding, heads, Q, K)


def output(*encodings, kernels=REFERENCE):
    _, q, k, v = inputs()
    causal = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))[None, None]
    terms = attention_terms(encodings, causal, hook=kernels.hook)
    return np.asarray(attention.attend(q, k, v, terms, kernels=kernels))


@functools.cache
def alone(name):
    return output(on_heads(name, None))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_each_acts_as_alone(one, other):
    first = np.arange(HEADS) == 0
    both = output(on_heads(one, first), on_heads(other, ~first))
    assert np.isfinite(both).all()
    for name, head in ((one, 0), (other, 1)):
        if name not in READS_ALL_HEADS:
            assert_close(both[:, :, head], alone(name)[:, :, head], 1e-5)


@pytest.mark.parametrize("other", ["xpos", "rope", "pope"])
def test_a_widened_head_leaves_the_others_alone_in_the_cpu_form_too(other):
    first = np.arange(HEADS) == 0
    both = output(on_heads("pope", first), on_heads(other, ~first), kernels=KERNELS["cpu"])
    assert_close(both[:, :, 1], alone(other)[:, :, 1], 1e-5)


def test_an_encoding_sees_heads_of_two_widths_each_at_its_own():
    """PoPE on one head, then an encoding that takes any width on both."""
    first = np.arange(HEADS) == 0
    both = output(on_heads("pope", first), on_heads("position_temperature", None))
    temperature_alone = alone("position_temperature")
    assert_close(both[:, :, 1], temperature_alone[:, :, 1], 1e-5)
    assert np.abs(both[:, :, 0] - temperature_alone[:, :, 0]).max() > 1e-3


@pytest.mark.full
@pytest.mark.parametrize("law", ["decoding_equals_the_full_forward", "compiled_equals_eager"])
@pytest.mark.parametrize("other", ["xpos", "transformer_xl", "pope"])
def test_a_model_with_a_widened_head_obeys_the_laws(other, law):
    specs = (laws.spec("pope", heads=(0,)), laws.spec(other, heads=(1,)))
    laws.LAWS[law](Subject(specs))
