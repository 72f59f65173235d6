import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.grape_a import GRAPEA
from tests.encodings import codes

SENSITIVE = {"gate": ("key", "both"), "start": (1.0, 3.0)}
REFUSALS = [
    (dict(start=0.0), r"start must be above 0 and at most 80, got 0\.$"),
]
# KeyGatedAdditiveBias, QueryGatedAdditiveBias and QueryKeyGatedAdditiveBias of
# model-architectures/GRAPE at f5b539f with 2 heads of 4 channels and the parameters of `built`:
# the bias of the last of 3 tokens whose queries and keys are those of `queries_and_keys`.
REFERENCE = {
    "key": [[-0.085905, -0.037637, -0.0], [-0.001523, -0.000775, -0.0]],
    "query": [[-0.082908, -0.041454, -0.0], [-0.001915, -0.000958, -0.0]],
    "both": [[-0.168813, -0.079091, -0.0], [-0.003438, -0.001733, -0.0]],
}


def built(gate):
    encoding = GRAPEA(gate=gate, num_heads=2, head_dim=4, rngs=codes.rngs())
    encoding.factors[...] = jnp.asarray([0.5, -1.0])
    if encoding.key_direction is not None:
        encoding.key_direction[...] = jnp.asarray(codes.numbers(2, 4))
    if encoding.query_direction is not None:
        encoding.query_direction[...] = jnp.asarray(-codes.numbers(2, 4))
    return encoding


def queries_and_keys():
    x = codes.numbers(2, 3, 2, 4)
    return jnp.asarray(x[:1]), jnp.asarray(x[1:])


@pytest.mark.parametrize("gate", ["key", "query", "both"])
def test_agrees_with_the_authors_code(gate):
    t = codes.tokens(range(3))
    bias = built(gate).content_bias(*queries_and_keys(), t, t)
    np.testing.assert_allclose(bias[0, :, -1], REFERENCE[gate], atol=1e-6)


def test_a_gate_of_zeros_worked_by_hand():
    """softplus(0) is log 2, so that the slope 2^-8 at distance 5 is -5 log(2) / 256."""
    encoding = GRAPEA(num_heads=1, head_dim=4, rngs=codes.rngs())
    zeros = jnp.zeros((1, 1, 1, 4))
    bias = encoding.content_bias(zeros, zeros, codes.tokens([5]), codes.tokens([0]))
    np.testing.assert_allclose(bias, [[[[-5 * np.log(2) / 256]]]], rtol=1e-6)


def test_a_direction_of_zeros_has_finite_gradients():
    graph, state = nnx.split(built("key"))
    state["key_direction"][...] = jnp.zeros((2, 4))
    q, k = queries_and_keys()
    t = codes.tokens(range(3))

    def total(state):
        return nnx.merge(graph, state).content_bias(q, k, t, t).sum()

    gradients = jax.tree.leaves(jax.grad(total)(state))
    assert len(gradients) == 2
    assert all(np.isfinite(each).all() for each in gradients)
