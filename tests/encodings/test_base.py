import dataclasses
import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.axial_rope import AxialRoPE
from pe_lab.encodings.base import AttentionEncoding, Chain, OnAxis, Tokens, angles, lookup, masked_softmax, rotate, toeplitz
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.shaw import Shaw
from pe_lab.encodings.sinusoidal import Sinusoidal
from pe_lab.encodings.sliding_window import SlidingWindow
from pe_lab.encodings.stick_breaking import StickBreaking
from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.transformer.attention import attend
from tests import reference
from tests.encodings import codes, laws

CHAIN = (laws.spec("rope"), laws.spec("t5_bias"), laws.spec("shaw"), laws.spec("sinusoidal"))
CHAIN_LAWS = (
    "future_does_not_leak",
    "padding_does_not_reach_valid_tokens",
    "packed_segments_equal_separate_ones",
    "arange_form_equals_general_form",
    "decoding_equals_the_full_forward",
)


@functools.cache
def composition():
    return laws.Subject(CHAIN)


@pytest.mark.parametrize("law", CHAIN_LAWS)
def test_a_composition_obeys_the_laws(law):
    laws.LAWS[law](composition())


def inputs(length=5, heads=2, head_dim=4):
    q, k, v = (jax.random.normal(jax.random.key(i), (2, length, heads, head_dim)) for i in range(3))
    return q, k, v, codes.tokens(range(length)), jnp.tril(jnp.ones((length, length), bool))[None, None]


def test_a_chain_rotates_in_order_and_adds_biases():
    q, k, v, t, mask = inputs()
    rope, alibi, t5 = RoPE(head_dim=4), ALiBi(num_heads=2), T5Bias(width=8, num_heads=2, rngs=codes.rngs())
    chained = attend(Chain([rope, alibi, t5]), q, k, v, t, t, mask)
    by_hand = attend(AttentionEncoding(), *rope.qk(q, k, t, t), v, t, t, mask, bias=alibi.bias(t, t) + t5.bias(t, t))
    np.testing.assert_allclose(chained, by_hand, atol=1e-6)


def test_a_chain_of_one_is_that_one_and_an_empty_one_is_nope():
    q, k, v, t, mask = inputs()
    np.testing.assert_array_equal(attend(Chain([ALiBi(num_heads=2)]), q, k, v, t, t, mask), attend(ALiBi(num_heads=2), q, k, v, t, t, mask))
    np.testing.assert_array_equal(attend(Chain([]), q, k, v, t, t, mask), attend(AttentionEncoding(), q, k, v, t, t, mask))


def test_a_chain_takes_one_replacement_of_the_mixing():
    shaw = [Shaw(num_heads=2, head_dim=4, values=True, rngs=codes.rngs(i)) for i in range(2)]
    with pytest.raises(ValueError, match="Shaw and Shaw cannot act on one layer: each replaces mix"):
        Chain(shaw)


def test_masks_of_a_chain_and():
    class Window(AttentionEncoding):
        def __init__(self, size):
            self.size = size

        def mask(self, Q, K):
            return (Q.positions[:, :, None] - K.positions[:, None, :] < self.size)[:, None]

    t = codes.tokens(range(5))
    np.testing.assert_array_equal(Chain([Window(3), Window(2)]).mask(t, t), Window(2).mask(t, t))


def test_features_reach_the_part_that_made_them():
    class Gate(AttentionEncoding):
        def features(self, x, positions):
            return None, x.sum(-1)

        def bias(self, Q, K):
            return K.features[:, None, None]

    x = jnp.arange(12.0).reshape(1, 3, 4)
    chain, t = Chain([ALiBi(num_heads=2), Gate()]), codes.tokens(range(3))
    of_queries, of_keys = chain.features(x, t.positions)
    Q, K = dataclasses.replace(t, features=of_queries), dataclasses.replace(t, features=of_keys)
    np.testing.assert_allclose(chain.bias(Q, K), ALiBi(num_heads=2).bias(t, t) + x.sum(-1)[:, None, None])


def test_toeplitz_agrees_with_reference_and_definition():
    kernel = jnp.asarray(reference.entry("skew_reshape_L3")["inputs"]["r"], jnp.float32)
    reference.assert_agrees(jnp.stack([toeplitz(row[None])[0, i] for i, row in enumerate(kernel)]), "skew_reshape_L3")
    random = jax.random.normal(jax.random.key(0), (3, 13))
    random = np.asarray(random)
    for queries, keys in ((7, 7), (4, 10), (10, 4), (1, 13), (13, 1)):
        expected = [[[random[h, j - i + queries - 1] for j in range(keys)] for i in range(queries)] for h in range(3)]
        np.testing.assert_array_equal(toeplitz(jnp.asarray(random), queries), np.asarray(expected))
    np.testing.assert_array_equal(toeplitz(jnp.asarray(random)), toeplitz(jnp.asarray(random), 7))


def test_masked_softmax_gives_a_row_without_keys_zero_and_finite_gradients():
    s = jnp.asarray([[[[1.0, 2.0], [3.0, 4.0]]]])
    mask = jnp.asarray([[[[True, False], [False, False]]]])
    np.testing.assert_allclose(masked_softmax(s, mask), [[[[1, 0], [0, 0]]]])
    assert np.isfinite(jax.grad(lambda s: (masked_softmax(s, mask) ** 2).sum())(s)).all()


def test_masked_softmax_is_softmax_where_nothing_is_masked_and_survives_large_logits():
    s = 1e4 * jax.random.normal(jax.random.key(0), (1, 2, 3, 5))
    np.testing.assert_allclose(masked_softmax(s, jnp.ones((1, 1, 3, 5), bool)), jax.nn.softmax(s, axis=-1), atol=1e-6)


def test_a_lookup_outside_of_the_table_is_nan_on_both_sides():
    table = jnp.asarray([[1.0], [2.0]])
    np.testing.assert_array_equal(lookup(table, jnp.asarray([1, 2, -1])), [[2], [np.nan], [np.nan]])


def sinusoidal(**arguments):
    return Sinusoidal(width=4, rngs=codes.rngs(), **arguments)


def test_a_code_is_added_scaled():
    x, p = jnp.ones((2, 3, 4)), jnp.arange(3)[None]
    np.testing.assert_allclose(sinusoidal(scale=0.5)(x, p), 1 + 0.5 * jnp.broadcast_to(sinusoidal().code(p), x.shape), rtol=1e-6)


def test_a_code_multiplies():
    x, p = jnp.full((2, 3, 4), 3.0), jnp.arange(3)[None]
    np.testing.assert_allclose(sinusoidal(combine="multiply")(x, p), jnp.broadcast_to(3 * sinusoidal().code(p), x.shape), rtol=1e-6)


def test_a_concatenated_code_is_projected_back():
    encoding, x, p = sinusoidal(combine="concat"), jnp.ones((2, 3, 4)), jnp.arange(3)[None]
    matrix = encoding.projection.kernel[...]
    assert matrix.shape == (8, 4)
    np.testing.assert_allclose(encoding(x, p)[1], x[1] @ matrix[:4] + encoding.code(p)[0] @ matrix[4:], atol=1e-5)


def test_a_learned_scale_is_the_only_parameter_it_adds():
    assert [p.shape for p in jax.tree.leaves(laws.nnx.state(sinusoidal(learn_scale=True), laws.nnx.Param))] == [()]
    assert jax.tree.leaves(laws.nnx.state(sinusoidal(), laws.nnx.Param)) == []


FREQUENCIES = (1.0, 10000**-0.5, 1e-4, 3.7, 100.0, -0.3)


@pytest.mark.parametrize(
    "positions",
    [np.array([0, 1, 2, 255, 257]), np.array([10**5, 10**6, 10**6 + 1, 2**24 - 1]), np.array([-1, -37, -(10**6)])],
    ids=["small", "large", "negative"],
)
def test_angles_of_whole_positions_are_exact_up_to_whole_turns(positions):
    found = np.asarray(angles(jnp.asarray(positions), FREQUENCIES), np.float64)
    exact = np.outer(positions, FREQUENCIES)
    assert np.abs(found).max() <= np.pi + 1e-6
    np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * exact), atol=1e-6)


def test_angles_of_fractions_are_exact_too():
    positions = np.array([0.25, -0.75, 3.5, 1000.125, 99999.5], np.float32)
    found = np.asarray(angles(jnp.asarray(positions), FREQUENCIES), np.float64)
    np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * np.outer(positions.astype(float), FREQUENCIES)), atol=2e-6)


def test_a_plain_float32_product_is_not():
    product = np.float32(10**6) * np.float32(3**-0.5)
    assert abs(np.exp(1j * float(product)) - np.exp(1j * 10**6 * 3**-0.5)) > 1e-3


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_rotate_turns_the_pairs_of_its_layout_and_leaves_the_rest(layout):
    x, angle = jnp.arange(1.0, 7.0).reshape(1, 1, 1, 6), jnp.asarray([np.pi / 2, np.pi]).reshape(1, 1, 1, 2)
    expected = [-2, 1, -3, -4, 5, 6] if layout == "interleaved" else [-3, -2, 1, -4, 5, 6]
    np.testing.assert_allclose(rotate(x, angle, layout)[0, 0, 0], expected, atol=1e-5)
    np.testing.assert_allclose(rotate(x, angle, layout, 2.0)[0, 0, 0], [*(2 * n for n in expected[:4]), 5, 6], atol=1e-5)


def test_on_an_axis_an_encoding_is_told_that_axis_in_every_hook():
    """Against the same encoding on positions of that axis alone."""
    q, k, v, t, mask = inputs()
    both = t.__class__(jnp.stack([jnp.asarray([[4, 0, 9, 2, 2]]), t.positions], axis=-1), t.slots)
    for encoding in (
        RoPE(head_dim=4),
        ALiBi(num_heads=2),
        Shaw(num_heads=2, head_dim=4, values=True, rngs=codes.rngs()),
        SlidingWindow(size=2),
        StickBreaking(num_heads=2, head_dim=4),
    ):
        on_axis = OnAxis(encoding, 1)
        np.testing.assert_array_equal(attend(on_axis, q, k, v, both, both, mask), attend(encoding, q, k, v, t, t, mask))
        assert (on_axis.relative, on_axis.fusable) == (encoding.relative, encoding.fusable)
        assert [on_axis.acts_in(hook) for hook in laws.HOOKS] == [encoding.acts_in(hook) for hook in laws.HOOKS]


def test_on_an_axis_features_see_that_axis():
    class Reads(AttentionEncoding):
        def features(self, x, positions):
            return None, positions

    _, seen = OnAxis(Reads(), 1).features(jnp.zeros((1, 2, 3)), jnp.asarray([[[1, 5], [2, 6]]]))
    assert seen.tolist() == [[5, 6]]


def test_an_encoding_without_a_kernel_computes_no_offsets():
    """NoPE takes positions of any number of axes."""
    t = codes.tokens([[0, 1], [2, 3]])
    assert AttentionEncoding().bias(t, t) is None


def test_constructors_show_their_arguments_to_help():
    assert list(inspect.signature(Shaw).parameters) == ["clip", "values", "heads_share", "num_heads", "head_dim", "bidirectional", "rngs"]
    assert {"base", "layout", "width", "combine", "scale", "rngs"} <= set(inspect.signature(Sinusoidal).parameters)
    assert not inspect.signature(AttentionEncoding).parameters


@pytest.mark.parametrize(
    ("encoding", "shape", "sentence"),
    [
        (ALiBi(num_heads=2), (1, 3, 2), r"An encoding of offsets reads positions \[B, L\], got \[1, 3, 2\]"),
        (OnAxis(RoPE(head_dim=4), 0), (1, 3), r"OnAxis reads axis 0 of positions \[B, L, A\], got \[1, 3\]"),
        (OnAxis(RoPE(head_dim=4), 5), (1, 3, 2), r"OnAxis reads axis 5 of positions \[B, L, A\], got \[1, 3, 2\]"),
        (AxialRoPE(head_dim=4), (1, 3), r"AxialRoPE reads positions \[B, L, 2\], got \[1, 3\]"),
        (AxialRoPE(head_dim=4), (1, 3, 3), r"AxialRoPE reads positions \[B, L, 2\], got \[1, 3, 3\]"),
    ],
)
def test_positions_of_other_axes_than_it_reads_are_refused(encoding, shape, sentence):
    t = Tokens(jnp.zeros(shape, int))
    q = jnp.ones((1, 3, 2, 4))
    with pytest.raises(ValueError, match=sentence):
        attend(encoding, q, q, q, t, t, jnp.ones((1, 1, 3, 3), bool))
