"""Encodings from configs of published models: frequencies of transformers, layers, refusals, and
back.
"""

import copy
import json

import numpy as np
import pytest

from pe_lab.contrib.rope.cli import rope as command
from pe_lab.contrib.rope.rope_parameters import read, softmax_factor, write
from pe_lab.runs.errors import UserError
from pe_lab.runs.specs import plugin_specs
from tests.contrib.rope.configs import CONFIGS, head_dim, rope_at, text

# From transformers 5.24.0: frequencies of the pairs 1, n // 2 and n - 1, and the attention factor,
# of the first layer of each kind; None: the layer does not rotate.
VALUES = {
    "Llama 3.1 8B": {0: (0.81461722, 0.00052484602, 3.0689259e-07, 1.0)},
    "Mistral 7B": {0: (0.80584222, 0.001, 1.2409378e-06, 1.0)},
    "Qwen3 8B, 131072 tokens": {0: (0.80584222, 0.00060294115, 3.1023444e-07, 1.1386294)},
    "Phi-2": {0: (0.56234133, 0.0099999998, 0.00017782794, 1.0)},
    "Phi-3 mini 128k": {0: (0.81723183, 0.0080645159, 8.2416838e-05, 1.1902381)},
    "Pythia 1.4B": {0: (0.56234133, 0.0099999998, 0.00017782794, 1.0)},
    "StableLM 3B": {0: (0.39810717, 0.0099999998, 0.0002511887, 1.0)},
    "GLM-4 9B": {0: (0.7498942, 0.0099999998, 0.00013335215, 1.0)},
    "Command R7B": {0: (0.84445906, 0.004472136, 2.36838e-05, 1.0), 3: None},
    "EXAONE 4.0 32B": {0: (0.80584222, 0.00015743669, 7.755861e-08, 1.0), 3: None},
    "Gemma 3 4B": {
        0: (0.93057203, 0.0099999998, 0.00010746078, 1.0),
        5: (0.11221089, 0.00012500001, 1.3924674e-07, 1.0),
    },
    "OLMo 3 7B": {
        0: (0.81461722, 0.0014142134, 2.4551407e-06, 1.0),
        3: (0.81461722, 0.00039514786, 3.0689259e-07, 1.2079442),
    },
    "gpt-oss 20B": {0: (0.6890443, 0.00045648392, 3.0235114e-07, 1.3465736)},
    "SmolLM3 3B": {0: (0.78583002, 0.00044721362, 2.5450797e-07, 1.0), 3: None},
    "Llama 4 Scout": {0: (0.81461722, 0.0014142134, 1.5344629e-07, 1.0), 3: None},
    "DeepSeek V2 Lite": {0: (0.7498942, 0.0055000004, 3.3338035e-06, 1.0)},
    "DeepSeek V3": {0: (0.7498942, 0.0055000004, 3.3338035e-06, 1.0)},
    "MiniMax M2": {0: (0.61752874, 0.00044721362, 3.2387155e-07, 1.0)},
    "GPT-J 6B": {0: (0.74989421, 0.0099999997, 0.00013335215, 1.0)},
    "Qwen2-VL 7B": {0: (0.80584222, 0.001, 1.2409378e-06, 1.0)},
    "Qwen3-VL 8B": {0: (0.78583002, 0.00044721362, 2.5450797e-07, 1.0)},
    "Qwen3.5 9B": {0: None, 3: (0.60429639, 0.00031622779, 1.6548171e-07, 1.0)},
    "OLMo Hybrid, with a base": {0: None, 3: (0.81461722, 0.0014142134, 2.4551407e-06, 1.0)},
    # By the formula, 600000 ** (-2 * pair / rotated channels): these are not in transformers.
    "Ling lite 1.5": {0: (0.81229988, 0.0012909944, 2.0517874e-06, 1.0)},
    "Ling mini 2.0": {0: (0.65983109, 0.0012909944, 2.5258990e-06, 1.0)},
    "Llama 2, dynamic": {0: (0.86596435, 0.0099999998, 0.00011547819, 1.0)},
    "Llama, proportional": {0: (0.80584222, 0.0, 0.0, 1.0)},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_frequencies_and_factors_are_those_of_transformers(name):
    encodings = read(CONFIGS[name])
    for layer, expected in VALUES[name].items():
        rope = rope_at(encodings, layer, head_dim(text(CONFIGS[name])))
        if expected is None:
            assert rope is None
            continue
        n = len(rope.frequencies)
        found = [rope.frequencies[m] for m in (1, n // 2, n - 1)]
        amplitude = getattr(rope, "amplitude", 1.0)  # M-RoPE has none
        np.testing.assert_allclose([*found, amplitude], expected, rtol=1e-6)


def test_a_frequency_and_a_factor_agree_with_a_calculation_by_hand():
    """The slowest pair of Llama 3.1 is divided by 8; gpt-oss has YaRN's own factor for s = 32."""
    rope = rope_at(read(CONFIGS["Llama 3.1 8B"]), 0, 128)
    assert rope.frequencies[63] == pytest.approx(500_000 ** (-126 / 128) / 8, rel=1e-12)
    rope = rope_at(read(CONFIGS["gpt-oss 20B"]), 0, 64)
    assert rope.amplitude == pytest.approx(0.1 * np.log(32) + 1, rel=1e-12)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_accepts_the_encodings(name):
    plugin_specs.encodings(read(CONFIGS[name]))


@pytest.mark.parametrize("name", CONFIGS)
def test_writing_and_reading_again_gives_the_same_encodings(name):
    config = text(CONFIGS[name])
    encodings = read(CONFIGS[name])
    keys = write(encodings, config.get("num_hidden_layers", config.get("n_layer")))
    assert read(json.loads(json.dumps(keys))) == encodings


def test_layers_have_their_own_base_or_none():
    gemma = read(CONFIGS["Gemma 3 4B"])
    whole = (5, 11, 17, 23, 29)
    local = tuple(layer for layer in range(34) if layer not in whole)
    assert gemma == (
        dict(name="rope", base=10_000.0, layout="half", layers=local),
        dict(name="rope", base=1e6, factor=8.0, scaling="linear", layout="half", layers=whole),
    )
    scout = read(CONFIGS["Llama 4 Scout"])
    without = tuple(range(3, 48, 4))
    assert scout[1] == dict(name="position_temperature", rate=0.1, start=8192, layers=without)
    assert set(scout[0]["layers"]) == set(range(48)) - set(without)


def test_families_pair_neighboring_channels_or_halves():
    interleaved = {name for name in CONFIGS if read(CONFIGS[name])[0]["layout"] == "interleaved"}
    assert interleaved == {
        *("GLM-4 9B", "Command R7B", "Llama 4 Scout", "GPT-J 6B"),
        *("DeepSeek V2 Lite", "DeepSeek V3"),
    }


def test_models_of_text_and_images_have_sections_of_three_axes():
    (qwen,) = read(CONFIGS["Qwen2-VL 7B"])
    sections = (16, 24, 24)
    assert qwen == dict(name="mrope", base=1e6, sections=sections, order="chunked", layout="half")
    (qwen,) = read(CONFIGS["Qwen3-VL 8B"])
    assert (qwen["sections"], qwen["order"], qwen["base"]) == ((24, 20, 20), "interleaved", 5e6)
    (qwen,) = read(CONFIGS["Qwen3.5 9B"])
    assert (qwen["fraction"], qwen["layers"]) == (0.25, tuple(range(3, 32, 4)))


def test_exaone_without_windows_rotates_in_every_layer():
    windows = copy.deepcopy(CONFIGS["EXAONE 4.0 32B"])
    assert len(read(windows)[0]["layers"]) == 48
    windows["sliding_window"] = None
    assert "layers" not in read(windows)[0]


def test_command_r_without_windows_rotates_in_no_layer():
    windows = copy.deepcopy(CONFIGS["Command R7B"])
    assert len(read(windows)[0]["layers"]) == 24
    windows["sliding_window"] = None
    assert read(windows) == ()


def test_deepseek_has_a_factor_that_no_encoding_has():
    """YaRN's factor of the softmax by hand; DeepSeek alone reads mscale_all_dim there."""
    factors = {name: softmax_factor(config) for name, config in CONFIGS.items()}
    lite = (0.1 * 0.707 * np.log(40) + 1) ** 2
    assert factors.pop("DeepSeek V2 Lite") == pytest.approx(lite, rel=1e-12)
    assert factors.pop("DeepSeek V3") == pytest.approx((0.1 * np.log(40) + 1) ** 2, rel=1e-12)
    assert set(factors.values()) == {1.0}
    config = text(CONFIGS["DeepSeek V3"])
    without = config | {"rope_scaling": {**config["rope_scaling"], "mscale_all_dim": 0}}
    assert softmax_factor(without) == 1


LLAMA = dict(num_hidden_layers=4, hidden_size=64, num_attention_heads=4)


def scaled(**parameters):
    return LLAMA | {"rope_parameters": parameters}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (LLAMA | {"model_type": "qwen4"}, r"families of models has no 'qwen4'. Did you mean 'qwen"),
        (
            LLAMA | {"rope_ratio": 2},
            "The list of keys that are known has no 'rope_ratio'",
        ),
        (LLAMA | {"use_logn_attn": True}, "has no 'use_logn_attn'"),
        (LLAMA | {"alibi": True}, "has no 'alibi'"),
        (scaled(rope_type="su3"), r"types of rotary embedding \(rope_type\) has no 'su3'"),
        (scaled(rope_type="yarn", factor=2.0, finetuned=True), "'yarn' has no 'finetuned'"),
        (scaled(factor=2.0), "The rope_type 'default' has no 'factor'"),
        (scaled(mrope_interleave=True), "The rope_type 'default' has no 'mrope_interleave'"),
        (scaled(rope_type="linear"), "The rope_type 'linear' needs factor"),
        (scaled(rope_type="dynamic", factor=2.0), "'dynamic' needs max_position_embeddings"),
        (scaled(rope_type="linear", type="yarn", factor=2.0), "rope_type is 'linear' and type is"),
        (
            LLAMA | {"layer_types": ["a", "b"] * 2, "rope_parameters": {"a": {}, "c": {}}},
            "layer_types has no 'c'",
        ),
        (LLAMA | {"model_type": "gpt_oss"}, "The family gpt_oss needs rope_parameters"),
        (LLAMA | {"model_type": "qwen2_vl"}, "The family qwen2_vl needs mrope_section"),
        (
            scaled(rope_type="linear", factor=2.0, mrope_section=[4, 2, 2]),
            "mrope_section together with the rope_type 'linear' is not known",
        ),
        (LLAMA | {"rope_local_base_freq": 5.0}, "family llama does not read rope_local_base_freq"),
        (LLAMA | {"no_rope_layer_interval": 2}, "llama does not read no_rope_layer_interval"),
        (
            scaled(rope_type="linear", factor=2.0) | {"rope_scaling": {"type": "default"}},
            "rope_parameters and rope_scaling differ",
        ),
        (LLAMA | {"no_rope_layers": [1, 0]}, "no_rope_layers has 2 values for 4 layers"),
        (LLAMA | {"num_hidden_layers": None}, "needs num_hidden_layers or layer_types"),
        (LLAMA | {"qk_rope_head_dim": 8}, "qk_rope_head_dim needs qk_nope_head_dim"),
        (LLAMA | {"sliding_window_pattern": "LLLG"}, "'LLLG' needs layer_types"),
        ({"text_config": LLAMA, "rope_theta": 5.0}, "rope_theta differs from that of text_config"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(config, message):
    with pytest.raises(UserError, match=message):
        read(config)


ROPE = dict(name="rope", layers=(0, 1))
DYNAMIC = ROPE | dict(scaling="dynamic_ntk", factor=2.0, trained_length=8)
TEMPERATURE = dict(name="position_temperature", layers=(2, 3))


@pytest.mark.parametrize(
    ("encodings", "message"),
    [
        ([dict(name="alibi")], "has keys for rope and mrope, none for alibi"),
        ([dict(name="rope", scaling="ntk", factor=2.0)], "scaling 'ntk' has no rope_type"),
        ([dict(name="rope", heads=(0,))], "'default' has no key for rope's heads"),
        ([dict(name="rope", proportion=0.5, fraction=0.5)], "with the scaling 'linear' alone"),
        ([dict(name="mrope")], "mrope's sections, so they must be given"),
        ([ROPE, dict(name="rope", layers=(1, 2))], "Layer 1 has two encodings that rotate"),
        ([ROPE, ROPE | dict(layers=(2,), layout="half")], "one layout for all layers"),
        ([ROPE, dict(name="position_temperature")], "on all layers without rope"),
        ([dict(name="rope", layers=(5,))], r"must be some of 0..3, each once, got \(5,\)"),
        ([dict(name="rope", layers=(-1,))], r"must be some of 0..3, each once, got \(-1,\)"),
        ([dict(name="rope", layers=())], r"must be some of 0..3, each once, got \(\)"),
        ([dict(name="rope", layers=3)], "must be some of 0..3, each once, got 3"),
        ([DYNAMIC, DYNAMIC | dict(layers=(2,), trained_length=9)], "one trained_length for dynam"),
        ([DYNAMIC | dict(trained_length=None)], "'dynamic_ntk' needs trained_length"),
        ([ROPE, TEMPERATURE, TEMPERATURE | dict(rate=0.5)], "has position_temperature once"),
        (
            [ROPE, dict(name="position_temperature", layers=(2, 3), steps=False)],
            "no key for position_temperature's steps",
        ),
    ],
)
def test_an_encoding_without_a_key_is_refused(encodings, message):
    with pytest.raises(UserError, match=message):
        write(encodings, num_layers=4)


def test_layers_of_none_are_all_layers():
    assert write([dict(name="rope", layers=None)], 4) == write([dict(name="rope")], 4)


def test_the_command_names_the_factor_that_is_left_out(tmp_path, capsys):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(CONFIGS["DeepSeek V3"]))
    command.run(command.Options(file))
    comment, *lines = capsys.readouterr().out.splitlines()
    assert comment == ("# Left out: this model also multiplies q·k by 1.87385 (mscale_all_dim).")
    assert lines[0] == "config.model.encodings = ("


def test_the_command_prints_encodings_of_a_config(tmp_path, capsys):
    file = tmp_path / "config.json"
    file.write_text(
        json.dumps(
            CONFIGS["SmolLM3 3B"]
            | {"num_hidden_layers": 4, "vocab_size": 9}
            | {"no_rope_layers": [1, 1, 1, 0]}
        )
    )
    assert command.run(command.Options(file)) == 0
    assert capsys.readouterr().out == (
        "config.model.encodings = (\n"
        "    dict(name='rope', base=5000000.0, layout='half', layers=(0, 1, 2)),\n"
        ")\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as JSON"),
        ("[" * 100_000, "cannot be read as JSON"),
        ("[]", "must hold an object, got"),
    ],
    ids=["open", "deep", "list"],
)
def test_the_command_refuses_what_is_no_config(tmp_path, content, message):
    file = tmp_path / "config.json"
    file.write_text(content)
    with pytest.raises(UserError, match=message):
        command.run(command.Options(file))
