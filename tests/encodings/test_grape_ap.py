import dataclasses

import jax.numpy as jnp
import numpy as np

from pe_lab.encodings.grape_ap import GRAPEAP
from tests.encodings import codes

SENSITIVE = {"channels": (8, 4)}
REFUSALS = [
    (dict(channels=3), "an even number from 2, got 3"),
]
# The bias of CausalSelfAttention in model/llama-mha-grape-ap-v1.py of model-architectures/GRAPE at
# f5b539f with 2 heads and p_head_dim=4, for 4 tokens `codes.numbers(1, 4, 8)` and the weights
# `codes.numbers(8, 8)`: what the last token adds to each token.
REFERENCE = [[-0.186163, -0.132979, -0.076829, 0.0], [-0.009511, -0.006824, -0.003758, -0.0]]


def built(**arguments):
    return GRAPEAP(**{"channels": 4, **arguments}, width=8, num_heads=2, rngs=codes.rngs())


def tokens(encoding, x, positions):
    t = codes.tokens(positions)
    for_queries, for_keys = encoding.features(jnp.asarray(x), t.positions)
    return (dataclasses.replace(t, features=each) for each in (for_queries, for_keys))


def bias_of(encoding, x, positions):
    return np.asarray(codes.content_bias(encoding, *tokens(encoding, x, positions), 2))[0]


def test_agrees_with_the_authors_code():
    encoding = built()
    encoding.projection.kernel[...] = jnp.asarray(codes.numbers(8, 8).T)
    bias = bias_of(encoding, codes.numbers(1, 4, 8), range(4))
    np.testing.assert_allclose(bias[:, -1], REFERENCE, atol=1e-5)


def test_inputs_of_zeros_worked_by_hand():
    """log sigmoid(0) is -log 2 for each token after the key: ALiBi with its slopes times log 2."""
    bias = bias_of(built(), np.zeros((1, 3, 8), np.float32), range(3))
    for slope, of_head in zip((2**-4, 2**-8), bias, strict=True):
        np.testing.assert_allclose(of_head[2], -slope * np.log(2) * np.array([2, 1, 0]), atol=1e-6)


def test_the_bias_depends_on_the_positions_themselves():
    x = np.random.default_rng(0).normal(size=(1, 4, 8)).astype(np.float32)
    encoding = built()
    encoding.projection.kernel[...] = 5 * encoding.projection.kernel[...]
    shifted = bias_of(encoding, x, range(3, 7)) - bias_of(encoding, x, range(4))
    assert abs(np.tril(shifted)).max() > 1e-2
