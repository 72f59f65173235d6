"""Options that are off cost nothing: the model's program is that of a plain decoder."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.ops import masked_softmax
from tests import models
from tests.options import OPTIONS

COSTS = ("flops", "transcendentals", "bytes accessed")


def plain_forward(model, stream):
    """Logits from the matrices and norms of a decoder of one layer, and from nothing else."""
    stack = model.decoder
    block = stack.blocks[0]
    attention, feedforward = block.attention, block.feedforward
    batch, length = stream.tokens.shape
    causal = jnp.tril(jnp.ones((length, length), bool))
    valid = stream.mask[..., None]
    visible = causal[None] & stream.mask[:, None] & valid
    x = math.sqrt(16) * stack.embedding(stream.tokens)
    y = jnp.where(valid, block.norms[0](x), 0)
    q, k, v = (
        matrix(y).reshape(batch, length, 2, 8)
        for matrix in (attention.query, attention.key, attention.value)
    )
    s = jnp.einsum("blhe,bshe->bhls", q, k) / math.sqrt(8)
    weights = masked_softmax(s, visible[:, None])
    out = jnp.einsum("bhls,bshe->blhe", weights, v)
    x = x + attention.out(out.reshape(x.shape))
    y = block.norms[1](x)
    x = x + feedforward.out(jax.nn.gelu(feedforward.into(y)))
    return model.output(stack.norm(x))


def model_forward(model, stream):
    return model(models.by_stack(model, stream))


def compiled(forward, **fields):
    """The costs that XLA counts in the compiled program, and the program's logits."""
    graph, params = nnx.split(models.build(num_layers=1, **fields))

    @jax.jit
    def program(params, tokens, mask):
        return forward(nnx.merge(graph, params), models.stream(tokens, mask=mask))

    inputs = (params, models.random_tokens(2, 7), models.prefix([7, 5], 7))
    executable = program.lower(*inputs).compile()
    costs = executable.cost_analysis()
    return [costs[name] for name in COSTS], executable(*inputs)


@functools.cache
def without_options():
    return compiled(model_forward)


@pytest.mark.slow
def test_a_model_without_options_costs_as_much_as_a_plain_decoder():
    """Each product, exponential and byte: an option that is off leaves nothing in the program."""
    costs, logits = without_options()
    plain_costs, plain_logits = compiled(plain_forward)
    assert costs == plain_costs
    np.testing.assert_array_equal(logits, plain_logits)


@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_that_is_on_changes_the_costs(option):
    """So that equal costs above say that it is off."""
    costs, _ = compiled(model_forward, **OPTIONS[option])
    assert costs != without_options()[0]


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_that_is_on_leaves_the_draws_of_the_other_parameters(option):
    plain, other = (
        dict(jax.tree_util.tree_leaves_with_path(models.params(models.build(**fields))))
        for fields in ({}, OPTIONS[option])
    )
    assert plain.keys() < other.keys() or option == "key_offset"  # which has no parameters
    for path, value in plain.items():
        np.testing.assert_array_equal(value, other[path])


def test_learned_sinks_start_at_zero():
    """So each softmax starts with 1 more in its denominator."""
    model = models.build(learned_sinks=True)
    for block in model.decoder.blocks:
        np.testing.assert_array_equal(block.attention.sinks[...], [0, 0])
