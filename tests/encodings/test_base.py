import dataclasses
import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.axial_rope import AxialRoPE
from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.shaw import Shaw
from pe_lab.encodings.sinusoidal import Sinusoidal
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
    return laws.Subject(CHAIN)


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


def sinusoidal(**arguments):
    return Sinusoidal(width=4, rngs=codes.rngs(), **arguments)


@pytest.mark.slow
def test_a_code_is_added_scaled():
    x, p = jnp.ones((2, 3, 4)), jnp.arange(3)[None]
    np.testing.assert_allclose(
        sinusoidal(scale=0.5)(x, p),
        1 + 0.5 * jnp.broadcast_to(sinusoidal().embed(p), x.shape),
        rtol=1e-6,
    )


def test_a_code_multiplies():
    x, p = jnp.full((2, 3, 4), 3.0), jnp.arange(3)[None]
    np.testing.assert_allclose(
        sinusoidal(combine="multiply")(x, p),
        jnp.broadcast_to(3 * sinusoidal().embed(p), x.shape),
        rtol=1e-6,
    )


def test_a_concatenated_code_is_projected_back():
    encoding, x, p = sinusoidal(combine="concat"), jnp.ones((2, 3, 4)), jnp.arange(3)[None]
    matrix = encoding.projection.kernel[...]
    assert matrix.shape == (8, 4)
    np.testing.assert_allclose(
        encoding(x, p)[1], x[1] @ matrix[:4] + encoding.embed(p)[0] @ matrix[4:], atol=1e-5
    )


def test_a_learned_scale_is_the_only_parameter_it_adds():
    assert [
        p.shape
        for p in jax.tree.leaves(laws.nnx.state(sinusoidal(learn_scale=True), laws.nnx.Param))
    ] == [()]
    assert jax.tree.leaves(laws.nnx.state(sinusoidal(), laws.nnx.Param)) == []


def test_on_an_axis_tokens_have_the_positions_of_that_axis():
    positions = jnp.asarray([[[4, 0], [9, 1], [2, 2]]])
    tokens = Tokens(positions, slots=jnp.arange(3)[None])
    assert tokens.on_axis(1).positions.tolist() == [[0, 1, 2]]
    assert tokens.on_axis(1).slots is tokens.slots
    assert tokens.on_axis(None) is tokens


@pytest.mark.parametrize(("axis", "shape"), [(0, (1, 3)), (5, (1, 3, 2))])
def test_an_axis_that_positions_do_not_have_is_refused(axis, shape):
    with pytest.raises(ValueError, match=rf"Axis {axis} needs positions \[B, L, A\], got \[1, 3"):
        Tokens(jnp.zeros(shape, int)).on_axis(axis)


def test_an_encoding_without_a_kernel_computes_no_offsets():
    """NoPE takes positions of any number of axes."""
    t = codes.tokens([[0, 1], [2, 3]])
    assert AttentionEncoding().bias(t, t) is None


def test_constructors_show_their_arguments_to_help():
    assert list(inspect.signature(Shaw).parameters) == [
        "clip",
        "values",
        "heads_share",
        "num_heads",
        "head_dim",
        "bidirectional",
        "rngs",
    ]
    assert {"base", "layout", "width", "combine", "scale", "rngs"} <= set(
        inspect.signature(Sinusoidal).parameters
    )
    assert not inspect.signature(AttentionEncoding).parameters


@pytest.mark.parametrize(
    ("encoding", "shape", "sentence"),
    [
        (
            ALiBi(num_heads=2),
            (1, 3, 2),
            r"An encoding of offsets reads positions \[B, L\], got \[1, 3, 2\]",
        ),
        (AxialRoPE(head_dim=4), (1, 3), r"AxialRoPE reads positions \[B, L, 2\], got \[1, 3\]"),
        (
            AxialRoPE(head_dim=4),
            (1, 3, 3),
            r"AxialRoPE reads positions \[B, L, 2\], got \[1, 3, 3\]",
        ),
    ],
)
def test_positions_of_other_axes_than_it_reads_are_refused(encoding, shape, sentence):
    t = Tokens(jnp.zeros(shape, int))
    q = jnp.ones((1, 3, 2, 4))
    with pytest.raises(ValueError, match=sentence):
        attend(encoding, q, q, q, t, t, jnp.ones((1, 1, 3, 3), bool))
