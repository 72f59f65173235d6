import dataclasses

import jax.numpy as jnp
import numpy as np

from pe_lab.encodings.repo import RePo
from pe_lab.encodings.rope import RoPE
from tests.encodings import codes

NEEDS_TWO_LAYERS = True  # a layer with the causal mask alone does not see the order of its keys
SENSITIVE = {"base": (500000.0, 100.0), "hidden_width": (None, 5)}
REFUSALS = [
    (dict(head_dim=3), "the head width must be even, got 3"),
    (dict(hidden_width=0), "hidden_width must be at least 1, got 0"),
]
# dynamic_position_encoding_swigluex_multihead and RotaryEmbedding of SakanaAI/repo at 1508a73,
# OLMo/olmo/model.py, with the parameters of `set_parameters`: the positions [L, H] of the tokens
# `inputs()`, and the rotated queries of the last one.
POSITIONS = [[0.815416, -0.861417], [-0.226489, -0.217966], [0.28069, 0.431318]]
QUERIES = [[-0.360324, 0.500198, -0.103882, -0.499801], [0.601948, -0.125152, -0.410984, 0.249924]]


def built(**arguments):
    sizes = dict(width=8, num_heads=2, head_dim=4)
    return RePo(**{**sizes, "hidden_width": 3, **arguments}, rngs=codes.rngs())


def set_parameters(encoding):
    """Exact numbers that a reader of another framework can write too."""
    encoding.gate.kernel[...] = jnp.asarray(codes.numbers(3, 8).T)
    encoding.content.kernel[...] = jnp.asarray(-codes.numbers(3, 8).T)
    encoding.final.kernel[...] = jnp.asarray(codes.numbers(2, 3).T)
    return encoding


def inputs():
    return codes.numbers(1, 3, 8)


def test_agrees_with_the_authors_code():
    encoding = set_parameters(built())
    for_queries, for_keys = encoding.features(jnp.asarray(inputs()), jnp.arange(3)[None])
    np.testing.assert_allclose(for_queries[0], POSITIONS, atol=1e-6)
    t = dataclasses.replace(codes.tokens(range(3)), features=for_queries)
    x = jnp.asarray(inputs().reshape(1, 3, 2, 4))
    q, k = encoding.transform_qk(x, x, t, t)
    np.testing.assert_allclose(q[0, -1], QUERIES, atol=1e-6)
    np.testing.assert_array_equal(q, k)
    np.testing.assert_array_equal(for_queries, for_keys)


def test_computed_positions_that_are_the_indices_are_rope():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(1, 9, 2, 4)), jnp.float32)
    index = jnp.broadcast_to(jnp.arange(9.0)[None, :, None], (1, 9, 2))
    t = codes.tokens(range(9))
    mine = built().transform_qk(*(x, x), *(dataclasses.replace(t, features=index),) * 2)
    theirs = RoPE(base=500000.0, layout="half", head_dim=4).transform_qk(x, x, t, t)
    np.testing.assert_allclose(mine[0], theirs[0], atol=1e-5)


def test_positions_are_float32_and_the_width_is_an_eighth_of_the_models():
    encoding = RePo(width=64, num_heads=2, head_dim=4, rngs=codes.rngs())
    assert encoding.gate.kernel.shape == (64, 8)
    x = jnp.ones((1, 2, 64), jnp.bfloat16)
    assert encoding.features(x, jnp.arange(2)[None])[0].dtype == jnp.float32
