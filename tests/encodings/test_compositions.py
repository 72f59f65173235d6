"""Several encodings act together in one layer."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.runs.errors import UserError
from tests import models
from tests.encodings import codes, laws
from tests.encodings.codes import attend
from tests.marks import full_except

CHAIN = (
    laws.spec("fox"),  # it has features
    laws.spec("rope"),
    laws.spec("t5_bias"),
    laws.spec("shaw"),
    laws.spec("sinusoidal"),
)
CHAIN_LAWS = (
    "future_does_not_leak",
    "padding_does_not_reach_valid_tokens",
    "packed_segments_equal_separate_ones",
    "cpu_kernels_equal_the_reference",
    "decoding_equals_the_full_forward",
)
QUICK_LAWS = ("padding_does_not_reach_valid_tokens", "cpu_kernels_equal_the_reference")


@functools.cache
def composition():
    return Subject(CHAIN)


@pytest.mark.slow
@pytest.mark.parametrize("law", full_except(QUICK_LAWS, CHAIN_LAWS))
def test_a_composition_obeys_the_laws(law):
    laws.LAWS[law](composition())


def inputs(length=5, heads=2, head_dim=4):
    q, k, v = (jax.random.normal(jax.random.key(i), (2, length, heads, head_dim)) for i in range(3))
    return (
        q,
        k,
        v,
        codes.tokens(range(length)),
        jnp.tril(jnp.ones((length, length), bool))[None, None],
    )


@pytest.mark.full
def test_several_encodings_rotate_in_order_and_add_their_biases():
    q, k, v, t, mask = inputs()
    rope, alibi, t5 = (
        RoPE(head_dim=4),
        ALiBi(num_heads=2),
        T5Bias(width=8, num_heads=2, rngs=codes.rngs()),
    )
    chained = attend((rope, alibi, t5), q, k, v, t, t, mask)
    by_hand = attend(
        AttentionEncoding(),
        *rope.transform_qk(q, k, t, t),
        v,
        t,
        t,
        mask,
        bias=alibi.bias(t, t) + t5.bias(t, t),
    )
    np.testing.assert_allclose(chained, by_hand, atol=1e-6)


def test_no_encoding_is_nope():
    q, k, v, t, mask = inputs()
    np.testing.assert_array_equal(
        attend((), q, k, v, t, t, mask), attend(AttentionEncoding(), q, k, v, t, t, mask)
    )


@pytest.mark.parametrize(
    ("specs", "sentence"),
    [
        (
            (dict(name="shaw", values=True),) * 2,
            "Shaw and Shaw cannot act on one layer: each has its own combine",
        ),
        (
            (dict(name="stick_breaking", remainder=True), dict(name="shaw", values=True)),
            "StickBreaking and Shaw cannot act on one layer",
        ),
        ((dict(name="stick_breaking"),) * 2, "each has its own normalize"),
        (
            (dict(name="pope"), dict(name="xpos")),
            "XPos cannot act after PoPE on the same heads: PoPE makes queries and keys wider",
        ),
        (
            (dict(name="pope", heads=(0, 1)), dict(name="pope", heads=(1,))),
            "PoPE cannot act after PoPE on the same heads",
        ),
    ],
)
def test_one_encoding_of_a_layer_may_replace_a_part_of_attention(specs, sentence):
    with pytest.raises(UserError, match=sentence):
        models.build(*specs)


def test_a_query_sees_the_keys_that_all_encodings_allow():
    class Window(AttentionEncoding):
        def __init__(self, size):
            self.size = size

        def mask(self, Q, K):
            return (Q.positions[:, :, None] - K.positions[:, None, :] < self.size)[:, None]

    t = codes.tokens(range(5))
    q, k, v, _, everything = inputs()
    both, narrow = (
        attend(e, q, k, v, t, t, everything) for e in ((Window(3), Window(2)), Window(2))
    )
    np.testing.assert_array_equal(both, narrow)


def test_features_reach_the_part_that_made_them():
    class Gate(AttentionEncoding):
        def features(self, x, positions):
            return None, x.sum(-1)

        def content_bias(self, q, k, Q, K):
            return jnp.broadcast_to(
                K.features[:, None, None], (len(q), q.shape[2], q.shape[1], k.shape[1])
            )

    x, (q, k, v, t, mask) = jax.random.normal(jax.random.key(7), (2, 5, 4)), inputs()
    gated = dataclasses.replace(t, features=(None, x.sum(-1)))
    bias = ALiBi(num_heads=2).bias(t, t) + x.sum(-1)[:, None, None]
    expected = attend(AttentionEncoding(), q, k, v, t, t, mask, bias=bias)
    np.testing.assert_allclose(
        attend((ALiBi(num_heads=2), Gate()), q, k, v, gated, gated, mask), expected, atol=1e-6
    )
