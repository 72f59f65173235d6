"""Encodings read from configs of published models, and what transformers computes; `make
test-peers`.
"""

import importlib

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.rope import rope_parameters
from pe_lab.contrib.rope.families import FAMILIES
from pe_lab.encodings.base import Tokens
from pe_lab.encodings.rope import RoPE
from tests.contrib.rope.configs import (
    CONFIGS,
    NOT_IN_TRANSFORMERS,
    arguments_at,
    head_dim,
    rope_at,
    text,
)

pytestmark = pytest.mark.peers
LENGTH = 9
# Families whose layers with full attention do not rotate, which only their code says.
FULL_IS_NOPE = ("cohere2", "exaone4")
LAYERS = dict(layer_types=["sliding_attention"] * 3 + ["full_attention"])


def theirs(name):
    """The configuration of transformers and the module with the family's functions."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    keys = dict(text(CONFIGS[name]))
    family = keys.pop("model_type", "llama")
    folder = family.removesuffix("_text")
    family = "qwen2_vl_text" if family == "qwen2_vl" else family
    module = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    return family, transformers.AutoConfig.for_model(family, **keys), module


def frequencies_of(name, layer):
    """(inverse frequencies, attention factor) of a layer in transformers; None if it has none."""
    family, config, module = theirs(name)
    if family == "gptj":
        table = module.create_sinusoidal_positions(2, config.rotary_dim)
        return np.arcsin(table[1, : config.rotary_dim // 2].double().numpy()), 1.0
    rotates = getattr(config, "no_rope_layers", None)
    if rotates is not None and not rotates[layer]:
        return None
    label = (getattr(config, "layer_types", None) or [None] * 99)[layer]
    if family in FULL_IS_NOPE and label == "full_attention":
        return None
    if label == "linear_attention":
        return None
    embedding = rotary(module)(config)
    prefix = f"{label}_" if hasattr(embedding, f"{label}_inv_freq") else ""
    factor = getattr(embedding, f"{prefix}attention_scaling")
    return getattr(embedding, f"{prefix}inv_freq").double().numpy(), factor


def rotary(module):
    """The class of the rotary embedding of a family's text."""
    names = [n for n in vars(module) if n.endswith("RotaryEmbedding") and "Vision" not in n]
    return getattr(module, names[0])


@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in NOT_IN_TRANSFORMERS])
def test_frequencies_and_factors_of_all_layers_are_those_of_transformers(name):
    """Angles per position, with float32 of transformers on one side."""
    config = text(CONFIGS[name])
    encodings = rope_parameters.read(CONFIGS[name])
    num_layers = config.get("num_hidden_layers", config.get("n_layer"))
    for layer in range(min(num_layers, 8)):
        expected = frequencies_of(name, layer)
        rope = rope_at(encodings, layer, head_dim(config))
        if expected is None:
            assert rope is None
            continue
        frequencies, factor = expected
        np.testing.assert_allclose(rope.frequencies, frequencies, rtol=1e-6)
        amplitude = getattr(rope, "amplitude", 1.0)  # M-RoPE has none
        assert amplitude == pytest.approx(factor, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "kind"), [("Phi-3 mini 128k", "longrope"), ("Llama 2, dynamic", "dynamic")]
)
def test_beyond_the_trained_length_frequencies_are_those_of_transformers(name, kind):
    config = theirs(name)[1]
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    expected, _ = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=10_000)
    rope = rope_at(rope_parameters.read(CONFIGS[name]), 0, head_dim(CONFIGS[name]))
    found = rope.far_frequencies
    if kind == "dynamic":  # they depend on the length
        found = rope.angles(jnp.ones((1, 1), int), jnp.asarray([10_000]))[0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


# GPT-J and Inkling have no rope_parameters, and some families need them. OLMo Hybrid is below.
_NEED = (name for name, family in FAMILIES.items() if family.sections or family.scaled)
_NO_ROPE = (name for name, family in FAMILIES.items() if family.relative_logits)
_WITHOUT = ("gptj", "olmo_hybrid", "bailing_moe", "bailing_moe_v2", *_NO_ROPE, *_NEED)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in _WITHOUT])
def test_bases_and_fractions_of_a_config_without_them_are_those_of_transformers(name):
    transformers = pytest.importorskip("transformers")
    sizes = dict(hidden_size=1024, num_attention_heads=8, num_hidden_layers=8)
    theirs = transformers.AutoConfig.for_model(name, **sizes)
    types = getattr(theirs, "layer_types", None) or [None] * 8
    keys = dict(sizes)
    if "deepseek" in name:  # the rotated part is not a fraction there
        keys["head_dim"] = 64
    encodings = rope_parameters.read({"model_type": name, **keys})
    by_layer = [arguments_at(encodings, layer) for layer in range(8)]
    assert any(by_layer)  # else nothing is compared
    for layer, ours in enumerate(by_layer):
        if ours is None:
            continue
        parameters = theirs.rope_parameters
        parameters = parameters.get(types[layer], parameters)
        assert parameters["rope_type"] == "default"
        assert ours["base"] == parameters["rope_theta"]
        assert ours.get("fraction", 1.0) == parameters.get("partial_rotary_factor", 1.0)


_NULL = {"rope_parameters": {"rope_type": "default", "rope_theta": None}}


@pytest.mark.parametrize(
    ("keys", "bases"),
    [
        ({"num_hidden_layers": 8, "rope_theta": 5e5}, {3: 5e5, 7: 5e5}),
        ({"num_hidden_layers": 3, "rope_theta": 5e5}, {2: 5e5}),
        ({"num_hidden_layers": 4, "rope_theta": 5e5, **_NULL}, {}),
        ({"num_hidden_layers": 4, "rope_theta": None}, {}),
        # Read in another way: the released models do not rotate.
        ({"num_hidden_layers": 4}, {3: 1e4}),
    ],
    ids=str,
)
def test_an_olmo_hybrid_rotates_in_the_layers_of_transformers_if_it_has_a_base(keys, bases):
    transformers = pytest.importorskip("transformers")
    sizes = dict(hidden_size=64, num_attention_heads=4)
    theirs = transformers.AutoConfig.for_model("olmo_hybrid", **sizes, **keys)
    base = theirs.rope_parameters["rope_theta"]
    types = enumerate(theirs.layer_types)
    assert {n: base for n, label in types if base and label == "full_attention"} == bases
    encodings = rope_parameters.read({"model_type": "olmo_hybrid", **sizes, **keys})
    by_layer = {n: arguments_at(encodings, n) for n in range(keys["num_hidden_layers"])}
    ours = {n: arguments["base"] for n, arguments in by_layer.items() if arguments}
    assert ours == (bases if "rope_theta" in keys else {})


@pytest.mark.parametrize("name", ["DeepSeek V2 Lite", "DeepSeek V3"])
def test_the_factor_of_the_softmax_is_that_of_transformers(name):
    _, config, module = theirs(name)
    expected = module.yarn_apply_mscale(config.rope_parameters, 1.0)
    assert rope_parameters.softmax_factor(CONFIGS[name]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("name", "rotates"), [("Command R7B", False), ("EXAONE 4.0 32B", True)])
def test_layers_without_windows_rotate_as_in_transformers(name, rotates, monkeypatch):
    """The attention of a layer calls its module's rotation, or does not."""
    family, config, module = theirs(name)
    torch = pytest.importorskip("torch")
    sizes = dict(hidden_size=64, num_attention_heads=4, num_key_value_heads=4, head_dim=16)
    config = type(config)(num_hidden_layers=4, sliding_window=None, **sizes, **LAYERS)
    config._attn_implementation = "eager"
    calls = []
    monkeypatch.setattr(
        module, "apply_rotary_pos_emb", lambda q, k, *rest: calls.append(1) or (q, k)
    )
    attention = next(getattr(module, n) for n in vars(module) if n.endswith("Attention"))
    for layer in range(4):
        attention(config, layer)(torch.zeros(1, 2, 64), (None, None), None)
    assert len(calls) == 4 * rotates
    keys = dict(model_type=family, num_hidden_layers=4, sliding_window=None, **sizes, **LAYERS)
    encodings = rope_parameters.read(keys)
    assert all((arguments_at(encodings, layer) is not None) == rotates for layer in range(4))


# GPT-J has no such function; M-RoPE's is compared in tests/encodings/test_mrope.py.
_OTHERS = ("GPT-J 6B", "Qwen2-VL 7B", "Qwen3-VL 8B", "Qwen3.5 9B")
ROTATED = [name for name in CONFIGS if name not in (*_OTHERS, *NOT_IN_TRANSFORMERS)]


@pytest.mark.parametrize("name", ROTATED)
def test_rotated_products_are_those_of_transformers(name):
    """The layout of pairs: q·k of the rotated channels, in the first layer that rotates."""
    torch = pytest.importorskip("torch")
    family, config, module = theirs(name)
    embedding = rotary(module)(config)
    encodings = rope_parameters.read(CONFIGS[name])
    layer = next(layer for layer in range(8) if arguments_at(encodings, layer))
    label = (getattr(config, "layer_types", None) or [None] * 8)[layer]
    arguments = arguments_at(encodings, layer)
    arguments.pop("name")
    arguments.pop("fraction", None)  # the rotated channels alone
    factors = getattr(embedding, f"{label}_inv_freq", getattr(embedding, "inv_freq", None))
    width = 2 * len(factors)
    draw = np.random.default_rng(0)
    q, k = draw.standard_normal((2, 1, LENGTH, 1, width)).astype(np.float32)
    places = jnp.arange(LENGTH)[None]
    tokens = Tokens(places)
    rope = RoPE(head_dim=width, **arguments)
    ours = rope.transform_qk(jnp.asarray(q), jnp.asarray(k), tokens, tokens)
    x = torch.zeros(1, LENGTH, width)
    nested = hasattr(embedding, f"{label}_inv_freq")
    places = torch.arange(LENGTH)[None]
    position = embedding(x, places, label) if nested else embedding(x, places)
    heads_first = (torch.tensor(np.moveaxis(a, 1, 2)) for a in (q, k))
    if family == "llama4_text":
        other = module.apply_rotary_emb(torch.tensor(q), torch.tensor(k), position)
        other = [a.transpose(1, 2) for a in other]
    elif family == "deepseek_v2":
        other = module.apply_rotary_emb(*heads_first, position)
    elif family == "deepseek_v3":
        other = module.apply_rotary_pos_emb_interleave(*heads_first, *position)
    else:
        other = module.apply_rotary_pos_emb(*heads_first, *position)
    expected = other[0].numpy() @ np.swapaxes(other[1].numpy(), 2, 3)
    found = np.einsum("blhe,bshe->bhls", *ours)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


_HAS_DEFAULTS = [name for name in FAMILIES if "bailing" not in name and "inkling" not in name]


@pytest.mark.parametrize("name", _HAS_DEFAULTS)
def test_windows_and_temperatures_without_keys_are_those_of_transformers(name):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoConfig.for_model(name).get_text_config()
    ours = FAMILIES[name].defaults
    for key in ("sliding_window", "attention_chunk_size", "attn_temperature_tuning"):
        expected = ours.get(key)
        if key == "sliding_window" and ours.get("use_sliding_window") is False:
            expected = None
        assert (getattr(theirs, key, None) or None) == expected, key
