import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings.t5_bias import T5Bias
from tests import models, reference
from tests.encodings import codes, laws

SENSITIVE = {"num_buckets": (32, 16), "max_distance": (128, 40)}
REFUSALS = [
    (dict(num_buckets=2, bidirectional=True), "two buckets a side or more"),
    (dict(max_distance=16), "max_distance=16"),
]


def t5(bidirectional=False, **arguments):
    return T5Bias(
        width=16, num_heads=2, bidirectional=bidirectional, rngs=codes.rngs(), **arguments
    )


@pytest.mark.slow
@pytest.mark.parametrize("bidirectional", [False, True])
def test_buckets_agree_with_reference(bidirectional):
    entry = f"t5_bucket_32_128_{'bidirectional' if bidirectional else 'causal'}"
    reference.assert_agrees(t5(bidirectional).bucket(jnp.arange(-140, 141)), entry)


@pytest.mark.slow
def test_bias_is_the_table_at_the_bucket_of_each_pair():
    encoding, t = t5(), codes.tokens([0, 1, 5, 40])
    bias, table = np.asarray(encoding.bias(t, t)), np.asarray(encoding.table[...])
    assert bias.shape == (1, 2, 4, 4)
    np.testing.assert_array_equal(
        bias[0, :, 3, 1], table[22]
    )  # 39 back: 16 + floor(16 log(39/16) / log(128/16)) = 16 + floor(6.86)
    np.testing.assert_array_equal(bias[0, :, 2, 1], table[4])
    np.testing.assert_array_equal(
        bias[0, :, 0, 3], table[0]
    )  # the future shares the bucket of distance 0


@pytest.mark.full
@codes.every_kernel
def test_a_kernel_has_the_gradient_of_the_equation(compute):
    graph, params = nnx.split(t5())
    weight = jax.random.normal(jax.random.key(0), (1, 2, 9, 9))

    def loss(params, form):
        t = form.tokens(range(9))
        return (form.hook(nnx.merge(graph, params), "bias")(t, t) * weight).sum()

    fast, plain = (jax.grad(loss)(params, form)["table"][...] for form in (compute, codes.EQUATION))
    np.testing.assert_allclose(fast, plain, atol=1e-5)


def test_one_table_serves_all_layers_unless_not_shared():
    shared, own = (Subject(laws.spec("t5_bias", share=s)).build() for s in (True, False))
    assert (len(shared.attention_encodings), models.indices(shared.decoder.layer_sites)) == (
        1,
        ((0,), (0,)),
    )
    assert (len(own.attention_encodings), models.indices(own.decoder.layer_sites)) == (
        2,
        ((0,), (1,)),
    )
