import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.mrope import MRoPE
from pe_lab.encodings.rope import RoPE
from tests import reference
from tests.encodings import codes

SENSITIVE = {
    "sections": ((2, 1, 1), (1, 1, 2)),
    "order": (
        dict(sections=(1, 1, 2), order="chunked"),
        dict(sections=(2, 1, 1), order="interleaved"),
    ),
    "base": (1e6, 100.0),
    "fraction": (1.0, 0.75),
    "layout": ("half", "interleaved"),
}
REFUSALS = [
    (dict(head_dim=4), "so 1.0 of the head width 4 must be an even number of at least 6"),
    (dict(head_dim=16, fraction=0.2), "so 0.2 of the head width 16 must be an even number"),
    (dict(head_dim=16, sections=(4, 4, 4)), r"8 in all, got \(4, 4, 4\)"),
    (dict(head_dim=16, sections=(4, 4)), r"three axes, 8 in all, got \(4, 4\)"),
    (dict(head_dim=16, sections=(9, -2, 1)), r"8 in all, got \(9, -2, 1\)"),
    (
        dict(head_dim=16, sections=(1, 4, 3), order="interleaved"),
        "no room for 4 pairs on axis 1: every third of 8 pairs",
    ),
    (dict(base=0.0), "MRoPE's base must be above 0"),
]
PLACES = [[0, 0, 0], [1, 1, 1], [2, 2, 2], [2, 2, 3], [2, 3, 2], [2, 3, 3], [4, 4, 4]]


def heads(head_dim, seed=0, count=2):
    return jax.random.normal(jax.random.key(seed), (1, len(PLACES), count, head_dim))


def rotated(encoding, places=PLACES, x=None):
    x = heads(encoding.head_dim) if x is None else x
    tokens = codes.tokens(places)
    return np.asarray(encoding.transform_qk(x, x, tokens, tokens)[0])


def test_axes_of_qwen2_vl_are_chunks_and_of_qwen3_vl_take_turns():
    chunked = MRoPE(head_dim=128, sections=(16, 24, 24)).axes
    assert chunked == (0,) * 16 + (1,) * 24 + (2,) * 24
    assert MRoPE(head_dim=128).axes == chunked
    turns = MRoPE(head_dim=128, sections=(24, 20, 20), order="interleaved").axes
    assert turns == (0, 1, 2) * 20 + (0,) * 4


def test_a_pair_rotates_by_the_position_on_its_axis_by_hand():
    """Three pairs of one axis each, at time 1, height 2, width 3; frequencies 1, 1/10, 1/100."""
    encoding = MRoPE(head_dim=6, sections=(1, 1, 1), base=1000.0)
    found = encoding.angles(jnp.asarray([[[1, 2, 3]]]))
    np.testing.assert_allclose(found[0, 0], [1.0, 0.2, 0.03], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mrope_golden", dict(sections=(16, 24, 24))),
        ("mrope_interleaved_golden", dict(sections=(24, 20, 20), order="interleaved")),
    ],
)
def test_agrees_with_the_golden_values_of_multimodal_ropes(name, arguments):
    """Tokens of an image and of a video, with a place of their own on each axis."""
    given, expected = (reference.entry(name)[part] for part in ("inputs", "value"))
    encoding = MRoPE(head_dim=128, base=5e6, **arguments)
    places = np.asarray(given["positions"])[given["tokens"]]
    angles = np.asarray(encoding.angles(jnp.asarray(places)[None]))[0]
    reference.assert_agrees(np.cos(angles), name, expected["cos"])
    reference.assert_agrees(np.sin(angles), name, expected["sin"])


@pytest.mark.parametrize("arguments", [{}, dict(order="interleaved", sections=(4, 2, 2))], ids=str)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_with_equal_axes_it_is_rope_to_the_last_bit(arguments, layout, fraction):
    arguments = {} if fraction != 1 else arguments
    mrope = MRoPE(head_dim=16, base=500.0, layout=layout, fraction=fraction, **arguments)
    rope = RoPE(head_dim=16, base=500.0, layout=layout, fraction=fraction)
    places = [0, 1, 5, 77, 4096, 65_537, 999_983]
    found = rotated(mrope, [[p, p, p] for p in places])
    np.testing.assert_array_equal(found, rotated(rope, places, heads(16)))


def test_one_axis_for_each_head_agrees_with_the_golden_values_of_multimodal_ropes():
    """MHRoPE with two heads for time, three for height and three for width."""
    given, expected = (reference.entry("mhrope_golden")[part] for part in ("inputs", "value"))
    rope = RoPE(head_dim=128, base=5e6, layout="half")
    x = jnp.zeros((1, 3, 8, 128)).at[..., :64].set(1)  # (1, 0) rotates to its cosine and sine
    rotated = np.full((8, 3, 128), np.nan)
    for axis, heads_of_axis in enumerate(given["heads"]):
        on_axis = codes.tokens(given["positions"]).on_axis(axis)
        new_q, _ = rope.transform_qk(x, x, on_axis, on_axis)
        new_q = np.asarray(new_q)[0]
        rotated[heads_of_axis] = np.swapaxes(new_q, 0, 1)[heads_of_axis]
    pairs = np.asarray(given["pairs"])
    reference.assert_agrees(rotated[..., pairs], "mhrope_golden", expected["cos"])
    reference.assert_agrees(rotated[..., pairs + 64], "mhrope_golden", expected["sin"])


PEERS = {
    "qwen2_vl": dict(sections=(16, 24, 24)),
    "qwen3_vl": dict(sections=(24, 20, 20), order="interleaved", base=500_000.0),
    "qwen3_5": dict(sections=(11, 11, 10), order="interleaved", base=1e7, fraction=0.25),
}


@pytest.mark.peers
@pytest.mark.parametrize("family", PEERS)
def test_rotated_queries_are_those_of_transformers(family):
    import importlib

    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    arguments = PEERS[family]
    head_dim = 256 if family == "qwen3_5" else 128
    parameters = {
        "rope_type": "default",
        "rope_theta": arguments.get("base", 1e6),
        "mrope_section": list(arguments["sections"]),
        "partial_rotary_factor": arguments.get("fraction", 1.0),
    }
    if "order" in arguments:
        parameters["mrope_interleaved"] = True
    config = transformers.AutoConfig.for_model(
        f"{family}_text",
        head_dim=head_dim,
        hidden_size=2 * head_dim,
        num_attention_heads=2,
        num_hidden_layers=4,
        rope_parameters=parameters,
    )
    names = [n for n in vars(module) if n.endswith("RotaryEmbedding") and "Vision" not in n]
    embedding = getattr(module, names[0])(config)
    x = heads(head_dim)
    places = torch.tensor(PLACES).T[:, None]  # [3, 1, L]
    cos, sin = embedding(torch.zeros(1), places)
    heads_first = torch.tensor(np.array(x)).transpose(1, 2)
    expected, _ = module.apply_rotary_pos_emb(heads_first, heads_first, cos, sin)
    found = rotated(MRoPE(head_dim=head_dim, **arguments), x=x)
    np.testing.assert_allclose(found, expected.transpose(1, 2), atol=2e-6)
