"""Families whose configs say little about positions: OLMo Hybrid, Bailing, Inkling."""

import json

import pytest

from pe_lab.contrib.rope.cli import rope as command
from pe_lab.contrib.rope.rope_parameters import masks, read, write
from pe_lab.runs.errors import UserError
from pe_lab.runs.specs import plugin_specs

SIZES = dict(hidden_size=64, num_attention_heads=4)
LOCAL = tuple(layer for layer in range(66) if (layer + 1) % 6)
# The keys about positions of thinkingmachines/Inkling.
INKLING = {
    "model_type": "inkling_mm_model",
    "text_config": {
        "model_max_length": 1048576,
        "hidden_size": 6144,
        "num_hidden_layers": 66,
        "num_attention_heads": 64,
        "head_dim": 128,
        "d_rel": 16,
        "rel_extent": 1024,
        "log_scaling_n_floor": 128000,
        "log_scaling_alpha": 0.1,
        "local_layer_ids": list(LOCAL),
        "sliding_window_size": 512,
        "use_sconv": True,
    },
}


def text(**changes):
    keys = {**INKLING["text_config"], **changes}
    return {
        "text_config": {k: v for k, v in keys.items() if v != "-"},
        "model_type": "inkling_text",
    }


@pytest.mark.parametrize(
    "keys",
    [
        {"rope_parameters": None},  # allenai/Olmo-Hybrid-7B
        {"rope_parameters": {"rope_type": "default", "rope_theta": None}},  # its Instruct-DPO
        {"rope_theta": None},
        {"rope_theta": 5e5, "rope_parameters": {"rope_type": "default", "rope_theta": None}},
        {},
    ],
    ids=str,
)
def test_an_olmo_hybrid_without_a_base_rotates_in_no_layer(keys):
    assert read({"model_type": "olmo_hybrid", "num_hidden_layers": 32, **keys}) == ()


@pytest.mark.parametrize(
    ("keys", "layers"),
    [
        ({"num_hidden_layers": 8, "rope_theta": 5e5}, (3, 7)),
        ({"num_hidden_layers": 3, "rope_theta": 5e5}, (2,)),
        (
            {
                "layer_types": ["linear_attention", "full_attention"],
                "rope_parameters": {"rope_theta": 5e5},
            },
            (1,),
        ),
    ],
)
def test_an_olmo_hybrid_with_a_base_rotates_in_its_layers_of_attention(keys, layers):
    rope = dict(name="rope", base=5e5, layout="half", layers=layers)
    assert read({"model_type": "olmo_hybrid", **keys}) == (rope,)


OLMO = {"model_type": "olmo_hybrid", "num_hidden_layers": 4}
YARN = dict(rope_type="yarn", factor=2.0, original_max_position_embeddings=8)
LLAMA = dict(num_hidden_layers=2, **SIZES)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (OLMO | {"rope_parameters": YARN}, "rope_type has no meaning without rope_theta"),
        (OLMO | {"rope_scaling": {"facctor": 2.0}}, "facctor has no meaning without rope_theta"),
        (OLMO | {"partial_rotary_factor": 0.5}, "partial_rotary_factor has no meaning without"),
        (
            OLMO | {"full_attention_interval": 2},
            "The family olmo_hybrid does not read full_attention_interval",
        ),
        (
            LLAMA | {"full_attention_interval": 2},
            "The family llama does not read full_attention_interval",
        ),
        (
            OLMO | {"layer_types": ["full_atention"] * 4},
            "has no 'full_atention'. Did you mean 'full_attention'?",
        ),
        (OLMO | {"layer_types": ["linear_attention"] * 3}, "layer_types has 3 values for 4 layers"),
    ],
)
def test_a_key_that_a_family_does_not_read_is_refused(config, message):
    with pytest.raises(UserError, match=message):
        read(config)


def test_a_hybrid_of_qwen_has_attention_on_every_fourth_layer_unless_it_says_otherwise():
    keys = {"model_type": "qwen3_5_text", "num_hidden_layers": 8, "head_dim": 64}
    keys["rope_parameters"] = {"rope_theta": 1e7, "mrope_section": [3, 3, 2]}
    assert read(keys)[0]["layers"] == (3, 7)
    assert read({**keys, "full_attention_interval": 2})[0]["layers"] == (1, 3, 5, 7)


def test_bailing_rotates_whole_heads_and_its_second_version_half_of_them():
    for family, fraction in (("bailing_moe", {}), ("bailing_moe_v2", dict(fraction=0.5))):
        (rope,) = read({"model_type": family, "num_hidden_layers": 2, **SIZES})
        assert rope == dict(name="rope", base=1e4, layout="half", **fraction)


def test_inkling_has_relative_logits_and_a_temperature_on_layers_without_a_window():
    full = tuple(range(5, 66, 6))
    logits = dict(name="relative_logits", num_profiles=16)
    encodings = read(INKLING)
    assert encodings == (
        dict(logits, extent=512, layers=LOCAL),
        dict(logits, extent=1024, layers=full),
        dict(name="position_temperature", rate=0.1, start=128000, steps=False, layers=full),
    )
    plugin_specs.encodings(encodings)
    assert masks(INKLING) == {"sliding_window_size": 512}


@pytest.mark.parametrize(
    ("changes", "layers"),
    [
        (dict(local_layer_ids="-"), LOCAL),  # the default is the published list
        (dict(num_hidden_layers=2, layer_types=["hybrid_sliding", "hybrid"]), (0,)),
        (dict(local_layer_ids=[1], num_hidden_layers=2), (1,)),
    ],
)
def test_layers_of_inkling_with_a_window_are_named_in_three_ways(changes, layers):
    assert read(text(**changes))[0]["layers"] == layers


def test_inkling_without_keys_has_the_defaults_of_its_code():
    (windowed, full) = read({"model_type": "inkling_text", "num_hidden_layers": 6})
    assert (windowed["extent"], full["extent"], full["num_profiles"]) == (512, 1024, 16)
    assert read(text(local_layer_ids=[], log_scaling_n_floor=None))[0]["extent"] == 1024


@pytest.mark.parametrize(
    ("changes", "window"),
    [
        (dict(sliding_window_size="-"), 512),  # the default of its code
        (dict(sliding_window_size="-", sliding_window=None), 512),
        (dict(sliding_window_size=None, sliding_window=128), 128),
        (dict(sliding_window_size=256.0), 256),
        (dict(local_layer_ids=[]), None),
    ],
)
def test_the_window_of_inkling_is_a_mask_and_the_reach_of_its_profiles(changes, window):
    extent = read(text(**changes))[0]["extent"]
    assert masks(text(**changes)) == ({"sliding_window_size": window} if window else {})
    assert repr(extent) == repr(window or 1024)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "inkling_text"}, "needs num_hidden_layers or layer_types"),
        (text(d_rel=0), "d_rel must be at least 1, got 0"),
        (text(rel_extend=8), "has no 'rel_extend'. Did you mean 'rel_extent'?"),
        (text(d_rel="16"), "d_rel must be a whole number, got '16'"),
        *(
            (text(**{key: value}), f"The family Inkling does not read {key}")
            for key, value in {
                "rope_theta": 1e4,
                "attn_temperature_tuning": True,
                "floor_scale": 8,
                "attn_scale": 0.1,
                "rotary_dim": 8,
                "partial_rotary_factor": 0.5,
                "rope_interleave": True,
                "no_rope_layers": [1] * 66,
                "sliding_window_pattern": 6,
            }.items()
        ),
        (text(sliding_window_size=0), "sliding_window_size must be at least 1, got 0"),
        (text(sliding_window_size="-", sliding_window="x"), "sliding_window must be a whole"),
        (text(layer_types=["sliding"] * 66), "types of layers has no 'sliding'"),
        (text(layer_types=["hybrid"] * 2), "layer_types has 2 values for 66 layers"),
        (text() | {"log_scaling_n_floor": 8}, "log_scaling_n_floor differs from that of text_con"),
        (text() | {"sliding_window": 8}, "sliding_window differs from that of text_config"),
    ],
)
def test_a_wrong_config_of_inkling_is_refused(config, message):
    with pytest.raises(UserError, match=message):
        read(config)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("log_scaling_n_floor", 8),
        ("log_scaling_alpha", 0.1),
        ("d_rel", 16),
        ("rel_extent", 8),
        ("local_layer_ids", [0]),
    ],
)
def test_a_key_of_inkling_is_refused_in_another_family(key, value):
    with pytest.raises(UserError, match=f"The family llama does not read {key}"):
        read({**LLAMA, key: value})


def test_relative_logits_have_no_keys():
    with pytest.raises(UserError, match="none for relative_logits"):
        write(read(INKLING), 66)


def test_the_command_names_what_inkling_computes_in_another_way(tmp_path, capsys):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(INKLING))
    command.run(command.Options(file))
    lines = capsys.readouterr().out.splitlines()
    comments = [line for line in lines if line.startswith("# Left out: ")]
    assert comments == [
        "# Left out: sliding_window_size=512 of this model is a mask of its attention.",
        "# Left out: this model divides q·k by the head width, and normalizes queries and keys.",
        "# Left out: its convolutions at keys, values and outputs are "
        "config.model.convolution_sites.",
        "# Left out: its temperature also multiplies the bias of relative_logits.",
    ]


@pytest.mark.parametrize("family", ["inkling_mm_model", "gemma3", "llava"])
def test_a_text_config_without_a_family_has_that_of_the_whole_config(family):
    """It was read as Llama, which is right for llava alone; a family of text has to be added."""
    config = {"model_type": family, "text_config": {"num_hidden_layers": 6, **SIZES}}
    if family == "inkling_mm_model":
        assert read(config)[0]["name"] == "relative_logits"
        return
    with pytest.raises(UserError, match=f"and {family} is no family of text models: add the model"):
        read(config)
    config["text_config"]["model_type"] = "llama"
    assert read(config)[0]["name"] == "rope"


@pytest.mark.parametrize(
    ("family", "keys", "expected"),
    [
        ("mistral", {}, {"sliding_window": 4096}),
        ("mistral", {"sliding_window": None}, {}),
        ("cohere2", {}, {"sliding_window": 4096}),
        ("gpt_oss", {"rope_parameters": {"rope_theta": 1e4}}, {"sliding_window": 128}),
        ("qwen2", {"sliding_window": 131072}, {}),
        ("qwen2", {"use_sliding_window": True}, {"sliding_window": 4096}),
        ("smollm3", {"sliding_window": 512}, {}),
        ("llama4_text", {}, {"attention_chunk_size": 8192}),
        ("llama4_text", {"attention_chunk_size": None}, {}),
        ("llama", {}, {}),
    ],
)
def test_a_window_that_a_config_does_not_name_is_that_of_its_family(family, keys, expected):
    assert masks({"model_type": family, "num_hidden_layers": 4, **keys}) == expected


@pytest.mark.parametrize(("keys", "layers"), [({}, (3,)), ({"attn_temperature_tuning": False}, ())])
def test_layers_of_llama4_without_a_rotation_have_a_temperature_unless_it_is_off(keys, layers):
    encodings = read({"model_type": "llama4_text", "num_hidden_layers": 4, **keys})
    tempered = [e["layers"] for e in encodings if e["name"] == "position_temperature"]
    assert tempered == ([layers] if layers else [])
