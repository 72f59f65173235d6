"""Encodings inherit codes, axes, checks and arguments from their base classes."""

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.axial_rope import AxialRoPE
from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.ops import as_positions
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.shaw import Shaw
from pe_lab.encodings.sinusoidal import Sinusoidal
from pe_lab.runs.plugins import plugins
from tests.encodings import codes, laws
from tests.encodings.codes import attend


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
        p.shape for p in jax.tree.leaves(nnx.state(sinusoidal(learn_scale=True), nnx.Param))
    ] == [()]
    assert jax.tree.leaves(nnx.state(sinusoidal(), nnx.Param)) == []


def test_positions_that_are_no_numbers_or_too_large_are_refused():
    positions = jnp.asarray([[0, 2**31]], jnp.uint32)
    with pytest.raises(ValueError, match=r"Positions are below 2\^31 = 2147483648, got 2147483648"):
        ALiBi(num_heads=2).bias(Tokens(positions), K=Tokens(positions))
    with pytest.raises(ValueError, match=r"Positions are below 2\^31"):
        sinusoidal().embed(positions)
    with pytest.raises(TypeError):
        as_positions(jnp.asarray([[True]]))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32"])
def test_offsets_of_narrow_and_unsigned_positions_do_not_wrap(dtype):
    tokens = Tokens(jnp.asarray([[0, 1, 127]]).astype(dtype))
    assert relative(tokens, tokens).tolist() == [[[0, 1, 127], [-1, 0, 126], [-127, -126, 0]]]


def test_narrow_floats_are_read_as_float32():
    positions = jnp.asarray([[0.0, 255.0, 256.0]], jnp.bfloat16)
    bias = ALiBi(num_heads=1).bias(Q=Tokens(positions), K=Tokens(positions))
    assert bias[0, 0, :, 0].tolist() == [0.0, -255.0 / 256, -1.0]


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


@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        (
            dict(q=(2, 4, 3, 6)),
            "RoPE.transform_qk is built for head_dim=8, got q of shape [2, 4, 3, 6].",
        ),
        (
            dict(k=(2, 4, 3, 16)),
            "RoPE.transform_qk is built for head_dim=8, got k of shape [2, 4, 3, 16].",
        ),
        (
            dict(q=(2, 3, 4, 8), k=(2, 3, 4, 8)),
            "RoPE.transform_qk takes q [B, L, H, Dh] with L = 4 as its positions have, got q of "
            "shape [2, 3, 4, 8], which looks like [B, H, L, Dh]: swap its axes 1 and 2.",
        ),
        (
            dict(q=(2, 5, 3, 8)),
            "RoPE.transform_qk takes q [B, L, H, Dh] with L = 4 as its positions have, got q of "
            "shape [2, 5, 3, 8].",
        ),
        (dict(q=(4, 8)), "RoPE.transform_qk takes q [B, L, H, Dh], got q of shape [4, 8]."),
    ],
)
def test_a_wrong_shape_is_refused_in_one_sentence(shapes, sentence):
    shapes = {"q": (2, 4, 3, 8), "k": (2, 4, 3, 8)} | shapes
    t = codes.tokens(range(4))
    q, k = jnp.zeros(shapes["q"]), jnp.zeros(shapes["k"])
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        RoPE(head_dim=8).transform_qk(q, k, t, t)


def test_positions_of_one_axis_are_refused_in_one_sentence():
    t, x = codes.tokens(range(4)), jnp.zeros((1, 4, 3, 8))
    # The tests check types, and a user's program does not: it constructs such tokens.
    object.__setattr__(t, "positions", jnp.arange(4))
    sentence = (
        "RoPE.transform_qk takes positions [B, L] as Q, got [4]: for one example, pass "
        "positions[None]."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        RoPE(head_dim=8).transform_qk(x, x, t, t)
    with pytest.raises(ValueError, match=re.escape("ALiBi.bias takes positions [B, L] as Q")):
        ALiBi(num_heads=2).bias(t, t)


def test_swapped_axes_are_seen_where_as_many_heads_as_queries_meet_other_keys():
    """Queries [B, 4, 4, Dh] have one shape in both layouts, and keys have not."""
    Q, K = Tokens(jnp.zeros((1, 4), int)), Tokens(jnp.zeros((1, 6), int))
    with pytest.raises(ValueError, match=r"takes k .* L = 6 .*\[B, H, L, Dh\]: swap"):
        RoPE(head_dim=8).transform_qk(jnp.zeros((2, 4, 4, 8)), jnp.zeros((2, 4, 6, 8)), Q, K)


@pytest.mark.parametrize("name", [n for n in plugins.names("encodings") if laws.is_attention(n)])
def test_a_wrong_head_width_is_refused_by_every_encoding_that_has_one(name):
    """Each of its own hooks that reads queries, keys or values gets one channel too many."""
    encoding, t = laws.build(name), codes.tokens(range(3))
    takes = plugins.parameters(type(encoding))
    assert (encoding.head_dim is None) == ("head_dim" not in takes)
    if encoding.head_dim is None:
        return
    x = jnp.zeros((1, 3, 4, encoding.head_dim + 1))
    s = jnp.zeros((1, 4, 3, 3))
    arguments = dict(s=s, w=s, q=x, k=x, v=x, Q=t, K=t, mask=jnp.ones((1, 1, 3, 3), bool))
    own_hooks = {"transform_qk", "content_bias", "transform_logits", "combine"}
    own_hooks &= set(laws.hooks(encoding))
    assert own_hooks
    for hook in own_hooks:
        method = getattr(encoding, hook)
        given = {n: arguments[n] for n in inspect.signature(method).parameters}
        sentence = f"{hook} is built for head_dim={encoding.head_dim}, got [qkv] of shape"
        with pytest.raises(ValueError, match=sentence):
            method(**given)


@pytest.mark.parametrize("name", plugins.names("encodings"))
def test_every_constructor_takes_rngs(name):
    """Flax's Linen bridge passes them to every module."""
    assert "rngs" in plugins.parameters(plugins.find("encodings", name))


def test_an_input_encoding_needs_rngs_for_a_matrix_alone():
    assert Sinusoidal(width=4).projection is None
    with pytest.raises(ValueError, match=r"Sinusoidal draws a matrix .* needs rngs=nnx.Rngs\(0\)"):
        Sinusoidal(width=4, combine="concat")


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
    assert list(inspect.signature(AttentionEncoding).parameters) == ["rngs"]


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
