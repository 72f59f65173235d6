"""Biases that all examples of a batch share, and the part that a micro-batch reads."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab import kernels
from tests import models

LONG, SHORT = 9, 5
PAIRS = "with another form for pairs"
# Sandwich sums 64 cosines and subtracts 64 for each pair: a quarter of the last place of that sum.
ROUNDING = 0.25 * np.spacing(np.float32(64))
SPECS = {
    "an offset bias": (dict(name="t5_bias"),),
    "two offset biases": (dict(name="alibi"), dict(name="t5_bias")),
    PAIRS: (dict(name="sandwich"), dict(name="rope")),
    "not of offsets alone": (dict(name="fire"),),
    "both": (dict(name="t5_bias"), dict(name="fire")),
    "on some layers": (dict(name="alibi", layers=(0,)), dict(name="kerple", layers=(1,))),
}
CPU = kernels.choose("auto", "cpu")


def stream(length, arange=True, batch=2):
    positions = jnp.arange(length) if arange else jnp.arange(length) ** 2
    return models.stream(models.random_tokens(batch, length), positions[None, None], arange=arange)


@pytest.mark.slow
@pytest.mark.parametrize("arange", [False, True])
@pytest.mark.parametrize("name", SPECS)
def test_terms_with_shared_biases_are_those_without(name, arange):
    """Computed for nine tokens, read for five."""
    model = models.build(*SPECS[name], kernels=CPU)
    learned, fixed = model.shared_biases({"decoder": stream(LONG, arange)})
    shared = {**learned["decoder"], **fixed["decoder"]}
    assert len(shared) == len(set(model.decoder.layer_sites))
    terms = model.position_terms({"decoder": stream(SHORT, arange)}, biases={"decoder": shared})
    alone = model.position_terms({"decoder": stream(SHORT, arange)})
    for one, other in zip(terms["decoder"].attention, alone["decoder"].attention, strict=True):
        np.testing.assert_allclose(
            one.bias, other.bias, rtol=1e-5, atol=ROUNDING if name == PAIRS else 1e-7
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("specs", "learned"),
    [
        ((dict(name="alibi"),), False),
        ((dict(name="t5_bias"),), True),
        ((dict(name="alibi"), dict(name="t5_bias")), True),
    ],
)
def test_biases_with_parameters_are_shared_apart_from_others(specs, learned):
    model = models.build(*specs, kernels=CPU)
    with_parameters, without = model.shared_biases({"decoder": stream(LONG)})
    assert bool(with_parameters["decoder"]) == learned
    assert bool(without["decoder"]) != learned


@pytest.mark.parametrize("spec", ["rope", "nope", "fox"])
def test_an_encoding_without_a_bias_of_positions_shares_none(spec):
    model = models.build(spec, kernels=CPU)
    assert model.shared_biases({"decoder": stream(LONG)}) == ({"decoder": {}}, {"decoder": {}})


def test_positions_of_each_example_share_no_bias():
    model = models.build("t5_bias", kernels=CPU)
    rows = jnp.broadcast_to(jnp.arange(LONG), (1, 2, LONG))
    own = models.stream(models.random_tokens(2, LONG), rows)
    assert model.shared_biases({"decoder": own}) == ({"decoder": {}}, {"decoder": {}})


@pytest.mark.slow
def test_layers_with_the_same_encodings_share_their_terms():
    """One bias for all layers with one table; one for each layer with tables of their own."""
    shared = models.build("t5_bias").position_terms({"decoder": stream(SHORT)})["decoder"].attention
    assert shared[0] is shared[1]
    own = (
        models.build(dict(name="t5_bias", share=False))
        .position_terms({"decoder": stream(SHORT)})["decoder"]
        .attention
    )
    assert np.abs(np.asarray(own[0].bias - own[1].bias)).max() > 0


def test_two_references_to_an_encoding_are_one_parameter():
    model = models.build("t5_bias", kernels=CPU)
    assert len(nnx.state(model, nnx.Param)["decoder"]["attention_encodings"]) == 1
